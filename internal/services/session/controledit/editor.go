// Package controledit changes the controls of sessions: model, levels and settings, and the defaults of new sessions.
//
// It owns which controls a runtime accepts and when they may change. It must never know how a turn runs.
package controledit

import (
	"harness/internal/platform/journal"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/transcript"
)

// Options configure Editor.
type Options struct {
	Journal  *journal.Journal
	Reader   *reading.Reader
	Runtimes *registry.Registry
	// Locked forbids edits of the defaults (SESSION_DEFAULTS_LOCKED).
	Locked bool
	// Now returns the time in ms.
	Now func() int64
}

// Editor changes controls.
type Editor struct {
	options Options
	entries transcript.Store
}

// New builds an Editor.
func New(o Options) *Editor { return &Editor{options: o} }
