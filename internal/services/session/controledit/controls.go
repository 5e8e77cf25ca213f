package controledit

import (
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Check returns *runtime.ControlError for levels that a runtime does not enforce.
func Check(adapter runtime.Adapter, c session.Controls) error {
	return runtime.CapabilitiesOf(adapter).CheckControls(adapter.Name(), c.ApprovalPolicy, c.FilesystemSandbox,
		c.NetworkAccess)
}

// CheckChanged is Check for a session of a named runtime; it allows levels that the session already had. A runtime
// that is no longer configured refuses every turn anyway.
func (e *Editor) CheckChanged(runtimeName string, before, after session.Controls) error {
	adapter, _ := e.options.Runtimes.Adapter(runtimeName)
	if adapter == nil {
		return nil
	}
	changed := func(was, is string) string {
		if was == is {
			return ""
		}
		return is
	}
	if !before.Unrestrictable() {
		if err := CheckNetwork(adapter, after, false); err != nil {
			return err
		}
	}
	return Check(adapter, session.Controls{ApprovalPolicy: changed(before.ApprovalPolicy, after.ApprovalPolicy),
		FilesystemSandbox: changed(before.FilesystemSandbox, after.FilesystemSandbox),
		NetworkAccess:     changed(before.NetworkAccess, after.NetworkAccess)})
}

// NetworkOfNew returns the controls of a new session whose client did not set the network. A codex-manager client gets
// the default together with its effective value.
func NetworkOfNew(adapter runtime.Adapter, c, defaults session.Controls, runtimeNamed bool) session.Controls {
	if runtimeNamed || !runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return c.OpenNetwork()
	}
	c.NetworkAccess, c.NetworkBefore = defaults.NetworkAccess, ""
	return c
}

// CheckNetwork returns *runtime.ControlError if controls restrict the network in a sandbox that restricts nothing. If
// a runtime accepts that combination as sent, CheckNetwork refuses it only when strict is set.
func CheckNetwork(adapter runtime.Adapter, c session.Controls, strict bool) error {
	if !c.Unrestrictable() || !strict && runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return nil
	}
	return &runtime.ControlError{Runtime: adapter.Name(), Field: "networkAccess", Value: session.NetworkRestricted,
		Enforced: []string{session.NetworkEnabled},
		Because:  ", because danger-full-access restricts nothing; name the network enabled, or leave it out"}
}
