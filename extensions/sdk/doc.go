// Package sdk is what an extension author needs: the types of the extension contract, the helper functions
// over them, and the registry a native Go extension registers its handlers with.
//
// It must never know a runtime, a host, or the server: it imports nothing of this module.
package sdk

// AgentRuntimeCoreAPIVersion is the version of the contract.
const AgentRuntimeCoreAPIVersion = 1

// Profile names the runtime an extension runs in.
type Profile struct {
	RuntimeProfileID      string `json:"runtimeProfileId"`
	RuntimeProfileVersion string `json:"runtimeProfileVersion"`
	CoreAPIVersion        int    `json:"coreApiVersion"`
}
