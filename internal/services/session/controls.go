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

// Complete makes Settings an object, so that it never encodes as null. It clears values that conflict with the approval
// policy.
func (c Controls) Complete() Controls {
	if c.Settings == nil {
		c.Settings = map[string]json.RawMessage{}
	}
	c.AcceptEdits = c.AcceptEdits && c.ApprovalPolicy == PolicyOnRequest
	return c
}

// With applies the values that a client set.
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

// DecidedByAcceptEdits is the actor of approvals under Controls.AcceptEdits.
const DecidedByAcceptEdits = "mode:acceptEdits"

// Levels of network access.
const (
	NetworkRestricted = "restricted"
	NetworkEnabled    = "enabled"
)

// Unrestrictable reports whether controls restrict the network in a sandbox that restricts nothing.
func (c Controls) Unrestrictable() bool {
	return c.FilesystemSandbox == SandboxFullAccess && c.NetworkAccess == NetworkRestricted
}

// EffectiveNetwork is the network access of an agent with these controls.
func (c Controls) EffectiveNetwork() string {
	if c.Unrestrictable() {
		return NetworkEnabled
	}
	return c.NetworkAccess
}

// WithSandbox changes only the sandbox. Full access enables the network; leaving it restores the previous network
// value.
func (c Controls) WithSandbox(sandbox string) Controls { return c.With(nil, nil, nil, &sandbox) }

// OpenNetwork enables the network if no client set it and the sandbox cannot restrict it.
func (c Controls) OpenNetwork() Controls {
	if c.Unrestrictable() {
		c.NetworkBefore, c.NetworkAccess = c.NetworkAccess, NetworkEnabled
	}
	return c
}

// settleNetwork derives the network from a changed sandbox, unless a client set the network explicitly.
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

// PlainControls are controls in their stored form.
type PlainControls Controls

// shownControls are controls in the form that clients see.
type shownControls struct {
	PlainControls
	Effective *effectiveControls `json:"effective,omitempty"`
}

// effectiveControls are the levels that apply to an agent where they differ from the ones a client sent.
type effectiveControls struct {
	NetworkAccess string `json:"networkAccess"`
}

// MarshalJSON encodes the controls as sent, with the effective values where they differ.
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
	// Defaults edits the controls of new sessions instead of the session's own controls.
	Defaults bool
	// Edit returns the new controls, given the current ones. It may run more than once and must not change its
	// argument.
	Edit func(Controls) Controls
	// Audit is the actor and the source of the change; nil leaves no entry in the transcript.
	Audit *ControlAudit
}

// ControlAudit is the provenance of a change, as clients give it.
type ControlAudit struct{ Actor, Source string }

// ControlChange is the result of an edit: the controls of the session and of new sessions after it.
type ControlChange struct {
	Controls, Defaults Controls
	Changed            bool
}

// Summary describes controls in one line, for clients and audit entries.
func (c Controls) Summary() string {
	model := "default"
	if c.Model != nil {
		model = *c.Model
	}
	return strings.Join([]string{model, c.ApprovalPolicy, c.NetworkAccess, c.FilesystemSandbox,
		"settings:" + strconv.Itoa(len(c.Settings))}, " | ")
}

// Equal compares controls. Settings are equal if they are the same JSON values; the order of members does not matter.
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

// MaxSettings and MaxSettingsBytes limit the settings of a session and those of new sessions. Each change stores all
// settings, and stores them twice more in its audit entry.
const (
	MaxSettings      = 256
	MaxSettingsBytes = 128 << 10
)

// SettingsLimitError refuses an edit that would leave too many settings, or too many bytes of names and values.
type SettingsLimitError struct{ Count, Bytes int }

// Error implements error.
func (e *SettingsLimitError) Error() string {
	return fmt.Sprintf(
		"there would be %d settings of %d bytes; at most %d of %d bytes together are kept: delete some, or keep large values elsewhere",
		e.Count, e.Bytes, MaxSettings, MaxSettingsBytes)
}

// DecidedByNonInteractive is the actor that declines requests in a session without a user (Controls.NonInteractive).
const DecidedByNonInteractive = "mode:nonInteractive"
