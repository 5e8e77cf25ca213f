package bundle

import _ "embed" // the SDK's source is part of the binary

// SDKModule is the import path of the SDK, which needs no installation.
const SDKModule = "@codex-manager/agent-runtime-sdk"

const sdkNamespace = "sdk"

//go:embed sdk.js
var sdkSource string
