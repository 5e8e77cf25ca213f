package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"harness/internal/lib/javascript"
)

// Complete makes Settings an object, so that it never shows as null, and ends what does not go with the approval
// policy.
func (c Controls) Complete() Controls {
	if c.Settings == nil {
		c.Settings = map[string]json.RawMessage{}
	}
	c.AcceptEdits = c.AcceptEdits && c.ApprovalPolicy == PolicyOnRequest
	return c
}

// With overlays what a client asked for.
func (c Controls) With(model, approval, network, sandbox *string) Controls {
	before := c
	if model != nil {
		c.Model = model
	}
	for target, wish := range map[*string]*string{&c.ApprovalPolicy: approval, &c.NetworkAccess: network,
		&c.FilesystemSandbox: sandbox} {
		if wish != nil {
			*target = *wish
		}
	}
	return c.settleNetwork(before, network != nil)
}

// ModelName is the model of the controls, "" for the runtime's default.
func (c Controls) ModelName() string {
	if c.Model == nil {
		return ""
	}
	return *c.Model
}

// Values of controls, as codex spells them.
const (
	PolicyOnRequest   = "on-request"
	SandboxFullAccess = "danger-full-access"
)

// DecidedByAcceptEdits is who decided what Controls.AcceptEdits approved.
const DecidedByAcceptEdits = "mode:acceptEdits"

// Levels of network access.
const (
	NetworkRestricted = "restricted"
	NetworkEnabled    = "enabled"
)

// Unrestrictable tells whether controls restrict the network in a sandbox that restricts nothing.
func (c Controls) Unrestrictable() bool {
	return c.FilesystemSandbox == SandboxFullAccess && c.NetworkAccess == NetworkRestricted
}

// EffectiveNetwork is the network access an agent has with these controls.
func (c Controls) EffectiveNetwork() string {
	if c.Unrestrictable() {
		return NetworkEnabled
	}
	return c.NetworkAccess
}

// WithSandbox changes the sandbox alone: in full access the network is enabled, and what it was counts again after it.
func (c Controls) WithSandbox(sandbox string) Controls { return c.With(nil, nil, nil, &sandbox) }

// OpenNetwork enables the network that nobody named and that the sandbox cannot restrict.
func (c Controls) OpenNetwork() Controls {
	if c.Unrestrictable() {
		c.NetworkBefore, c.NetworkAccess = c.NetworkAccess, NetworkEnabled
	}
	return c
}

// settleNetwork makes the network follow the sandbox, which was another one before, unless somebody named it.
func (c Controls) settleNetwork(before Controls, named bool) Controls {
	switch {
	case named:
		c.NetworkBefore = ""
	case c.FilesystemSandbox != SandboxFullAccess && c.NetworkBefore != "":
		c.NetworkAccess, c.NetworkBefore = c.NetworkBefore, ""
	case before.FilesystemSandbox != SandboxFullAccess:
		return c.OpenNetwork()
	}
	return c
}

// PlainControls are controls as they are stored.
type PlainControls Controls

// shownControls are controls as clients see them.
type shownControls struct {
	PlainControls
	Effective *effectiveControls `json:"effective,omitempty"`
}

// effectiveControls are the levels an agent has in place of those that were sent.
type effectiveControls struct {
	NetworkAccess string `json:"networkAccess"`
}

// MarshalJSON is the controls as they were sent, with what they come to where that is something else.
func (c Controls) MarshalJSON() ([]byte, error) {
	shown := shownControls{PlainControls: PlainControls(c)}
	shown.NetworkBefore = ""
	if c.Unrestrictable() {
		shown.Effective = &effectiveControls{NetworkEnabled}
	}
	return javascript.MustEncode(shown), nil
}

// ControlEdit is one change of controls.
type ControlEdit struct {
	// Defaults edits the controls new sessions start with instead of the session's own.
	Defaults bool
	// Edit makes the next controls of the current ones. It may run more than once and must not change what it is given.
	Edit func(Controls) Controls
	// Audit says who changes and through what; nil leaves no entry in the transcript.
	Audit *ControlAudit
}

// ControlAudit is the provenance of a change, as clients give it.
type ControlAudit struct{ Actor, Source string }

// ControlChange is the outcome of an edit: both controls as they are afterwards.
type ControlChange struct {
	Controls, Defaults Controls
	Changed            bool
}

// Summary is controls in one line, as clients and audit entries show them.
func (c Controls) Summary() string {
	model := "default"
	if c.Model != nil {
		model = *c.Model
	}
	return strings.Join([]string{model, c.ApprovalPolicy, c.NetworkAccess, c.FilesystemSandbox,
		"settings:" + strconv.Itoa(len(c.Settings))}, " | ")
}

// Equal compares controls; settings are the same when they are the same JSON values, whatever the order of their
// members.
func (c Controls) Equal(other Controls) bool {
	if c.ModelName() != other.ModelName() || (c.Model == nil) != (other.Model == nil) ||
		c.ApprovalPolicy != other.ApprovalPolicy ||
		c.NetworkAccess != other.NetworkAccess || c.FilesystemSandbox != other.FilesystemSandbox ||
		c.AcceptEdits != other.AcceptEdits || c.NonInteractive != other.NonInteractive || c.NativeTools != other.NativeTools ||
		c.NetworkBefore != other.NetworkBefore {
		return false
	}
	return maps.EqualFunc(c.Settings, other.Settings, func(a, b json.RawMessage) bool {
		var left, right any
		if json.Unmarshal(a, &left) != nil || json.Unmarshal(b, &right) != nil {
			return string(a) == string(b)
		}
		return reflect.DeepEqual(left, right)
	})
}

// MaxSettings and MaxSettingsBytes bound the settings of a session, and those of new sessions: all of them are stored
// anew with each change, twice more in the entry that tells of it.
const (
	MaxSettings      = 256
	MaxSettingsBytes = 128 << 10
)

// SettingsLimitError says that an edit would leave so many settings, and bytes of their names and values.
type SettingsLimitError struct{ Count, Bytes int }

// Error implements error.
func (e *SettingsLimitError) Error() string {
	return fmt.Sprintf(
		"there would be %d settings of %d bytes; at most %d of %d bytes together are kept: delete some, or keep large values elsewhere",
		e.Count, e.Bytes, MaxSettings, MaxSettingsBytes)
}

// DecidedByNonInteractive is who declined what was asked in a session without a person (Controls.NonInteractive).
const DecidedByNonInteractive = "mode:nonInteractive"
