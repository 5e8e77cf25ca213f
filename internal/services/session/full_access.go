package session

import "harness/internal/runtime"

// Levels of network access.
const (
	networkRestricted = "restricted"
	networkEnabled    = "enabled"
)

// unrestrictable tells whether controls restrict the network in a sandbox that restricts nothing.
func (c Controls) unrestrictable() bool {
	return c.FilesystemSandbox == sandboxFullAccess && c.NetworkAccess == networkRestricted
}

// EffectiveNetwork is the network access an agent has with these controls.
func (c Controls) EffectiveNetwork() string {
	if c.unrestrictable() {
		return networkEnabled
	}
	return c.NetworkAccess
}

// WithSandbox changes the sandbox alone: in full access the network is enabled, and what it was counts again after it.
func (c Controls) WithSandbox(sandbox string) Controls { return c.with(nil, nil, nil, &sandbox) }

// openNetwork enables the network that nobody named and that the sandbox cannot restrict.
func (c Controls) openNetwork() Controls {
	if c.unrestrictable() {
		c.NetworkBefore, c.NetworkAccess = c.NetworkAccess, networkEnabled
	}
	return c
}

// networkOfNew is the controls of a new session whose client did not name the network. A client of codex-manager is shown the
// default, as ever, with what it comes to.
func networkOfNew(adapter runtime.Adapter, c, defaults Controls, runtimeNamed bool) Controls {
	if runtimeNamed || !runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return c.openNetwork()
	}
	c.NetworkAccess, c.NetworkBefore = defaults.NetworkAccess, ""
	return c
}

// settleNetwork makes the network follow the sandbox, which was another one before, unless somebody named it.
func (c Controls) settleNetwork(before Controls, named bool) Controls {
	switch {
	case named:
		c.NetworkBefore = ""
	case c.FilesystemSandbox != sandboxFullAccess && c.NetworkBefore != "":
		c.NetworkAccess, c.NetworkBefore = c.NetworkBefore, ""
	case before.FilesystemSandbox != sandboxFullAccess:
		return c.openNetwork()
	}
	return c
}

// plainControls are controls as they are stored.
type plainControls Controls

// shownControls are controls as clients see them.
type shownControls struct {
	plainControls
	Effective *effectiveControls `json:"effective,omitempty"`
}

// effectiveControls are the levels an agent has in place of those that were sent.
type effectiveControls struct {
	NetworkAccess string `json:"networkAccess"`
}

// MarshalJSON is the controls as they were sent, with what they come to where that is something else.
func (c Controls) MarshalJSON() ([]byte, error) {
	shown := shownControls{plainControls: plainControls(c)}
	shown.NetworkBefore = ""
	if c.unrestrictable() {
		shown.Effective = &effectiveControls{networkEnabled}
	}
	return encode(shown), nil
}

// checkNetwork refuses to restrict the network in a sandbox that restricts nothing: *runtime.ControlError. A runtime that
// takes the pair as it is sent takes it unless strict.
func checkNetwork(adapter runtime.Adapter, c Controls, strict bool) error {
	if !c.unrestrictable() || !strict && runtime.CapabilitiesOf(adapter).KeepsFullAccessPair {
		return nil
	}
	return &runtime.ControlError{Runtime: adapter.Name(), Field: "networkAccess", Value: networkRestricted,
		Enforced: []string{networkEnabled}, Because: ", because danger-full-access restricts nothing; name the network enabled, or leave it out"}
}
