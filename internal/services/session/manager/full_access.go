package manager

import (
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// networkOfNew is the controls of a new session whose client did not name the network. A client of codex-manager is shown the
// default, as ever, with what it comes to.
func networkOfNew(adapter runtime.Adapter, c, defaults session.Controls, runtimeNamed bool) session.Controls {
	if runtimeNamed || !runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return c.OpenNetwork()
	}
	c.NetworkAccess, c.NetworkBefore = defaults.NetworkAccess, ""
	return c
}

// checkNetwork refuses to restrict the network in a sandbox that restricts nothing: *runtime.ControlError. A runtime that
// takes the pair as it is sent takes it unless strict.
func checkNetwork(adapter runtime.Adapter, c session.Controls, strict bool) error {
	if !c.Unrestrictable() || !strict && runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return nil
	}
	return &runtime.ControlError{Runtime: adapter.Name(), Field: "networkAccess", Value: session.NetworkRestricted,
		Enforced: []string{session.NetworkEnabled},
		Because:  ", because danger-full-access restricts nothing; name the network enabled, or leave it out"}
}
