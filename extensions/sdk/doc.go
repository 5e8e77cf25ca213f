// Package sdk is the API for authors of extensions. It owns the types of the extension contract, helper functions for
// them, and the registry for the handlers of a native Go extension.
//
// It must never know a runtime, a host, or the server: it imports nothing of this module.
package sdk

// AgentRuntimeCoreAPIVersion is the version of the contract.
const AgentRuntimeCoreAPIVersion = 1

// Profile names the runtime in which an extension runs.
type Profile struct {
	RuntimeProfileID      string `json:"runtimeProfileId"`
	RuntimeProfileVersion string `json:"runtimeProfileVersion"`
	CoreAPIVersion        int    `json:"coreApiVersion"`
}
