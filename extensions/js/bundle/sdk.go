package bundle

import _ "embed" // the SDK's source is part of the binary

// SDKModule is the name extensions import the SDK under; it needs to be installed nowhere.
const SDKModule = "@codex-manager/agent-runtime-sdk"

const sdkNamespace = "sdk"

//go:embed sdk.js
var sdkSource string
