package tasks

import (
	"encoding/json"

	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// levels are what an agent may do in a turn, "" for what is not known.
type levels struct {
	Approval   string `json:"approvalPolicy,omitempty"`
	Filesystem string `json:"filesystemSandbox,omitempty"`
	Network    string `json:"networkAccess,omitempty"`
}

// levelsOf are those of a session's controls with what a message changes.
func levelsOf(controls session.Controls, message session.Message) *levels {
	l := &levels{controls.ApprovalPolicy, controls.FilesystemSandbox, controls.NetworkAccess}
	for into, wish := range map[*string]*string{&l.Approval: message.ApprovalPolicy, &l.Filesystem: message.FilesystemSandbox,
		&l.Network: message.NetworkAccess} {
		if wish != nil {
			*into = *wish
		}
	}
	return l
}

const fullAccess = "danger-full-access"

// mode is the permission mode that comes to the same, "" when it is not known.
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

// confinement is what holds a tool of the runtime.
type confinement struct {
	Network    bool   `json:"network"`
	Filesystem string `json:"filesystem"`
}

// confines is what the levels confine a tool of the runtime to: an empty object when they are not known. Full
// access has no network limit.
func (l *levels) confines() any {
	if l == nil || l.Filesystem == "" {
		return struct{}{}
	}
	return confinement{l.Network == "enabled" || l.Filesystem == fullAccess, l.Filesystem}
}

// takeSent notes with which levels a message was sent.
func (l *Log) onSent(record *journal.Record) {
	var sent struct {
		Levels *levels `json:"controls"`
	}
	if json.Unmarshal(record.Payload, &sent) != nil || sent.Levels == nil {
		return // one of an older server, or of a session that was deleted
	}
	l.state.Levels = sent.Levels
	if t := l.state.Task; t != nil {
		t.Levels = sent.Levels
	}
}

// levels are those of the open task.
func (l *Log) levels() *levels {
	if t := l.state.Task; t != nil && t.Levels != nil {
		return t.Levels
	}
	return l.state.Levels
}
