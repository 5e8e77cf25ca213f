package tasks

import (
	"encoding/json"

	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// levels are the permissions of an agent in a turn, "" if unknown.
type levels struct {
	Approval   string `json:"approvalPolicy,omitempty"`
	Filesystem string `json:"filesystemSandbox,omitempty"`
	Network    string `json:"networkAccess,omitempty"`
}

// levelsOf returns the levels of a session's controls with a message's changes.
func levelsOf(controls session.Controls, message session.Message) *levels {
	l := &levels{controls.ApprovalPolicy, controls.FilesystemSandbox, controls.NetworkAccess}
	for into, requested := range map[*string]*string{&l.Approval: message.ApprovalPolicy, &l.Filesystem: message.FilesystemSandbox,
		&l.Network: message.NetworkAccess} {
		if requested != nil {
			*into = *requested
		}
	}
	return l
}

const fullAccess = "danger-full-access"

// mode returns the equivalent permission mode, "" if unknown.
func (l *levels) mode() Mode {
	switch {
	case l == nil || l.Approval == "":
		return ""
	case l.Approval == "untrusted":
		return ModeAsk
	case l.Approval == "never" && l.Filesystem == fullAccess:
		return ModeYolo
	}
	return ModeAuto
}

// confinement describes how a tool of the runtime is confined.
type confinement struct {
	Network    bool   `json:"network"`
	Filesystem string `json:"filesystem"`
}

// confines returns the confinement of a runtime's tool at these levels: an empty object if they are unknown. Full
// access has no network limit.
func (l *levels) confines() any {
	if l == nil || l.Filesystem == "" {
		return struct{}{}
	}
	return confinement{l.Network == "enabled" || l.Filesystem == fullAccess, l.Filesystem}
}

// onSent records the levels of a sent message.
func (l *Log) onSent(record *journal.Record) {
	var sent struct {
		Levels *levels `json:"controls"`
	}
	if json.Unmarshal(record.Payload, &sent) != nil || sent.Levels == nil {
		return // it is from an older server, or of a deleted session
	}
	l.state.Levels = sent.Levels
	if t := l.state.Task; t != nil {
		t.Levels = sent.Levels
	}
}

// levels returns the levels of the open task.
func (l *Log) levels() *levels {
	if t := l.state.Task; t != nil && t.Levels != nil {
		return t.Levels
	}
	return l.state.Levels
}
