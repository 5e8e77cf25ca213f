package session

import "harness/internal/runtime"

// The changes of a source since its session began, as in SourceNow.State.
const (
	SourceSame    = "same"
	SourceChanged = "changed"
	SourceAdded   = "added"
	SourceRemoved = "removed"
	SourceUnknown = "unknown" // the session began without a record
)

// SourceNow is a file that a session's agent reads by itself.
type SourceNow struct {
	// Source is its current state, and of a removed one its former state.
	runtime.Source
	State string
	// Began is its state when the session began, nil if it did not exist.
	Began *runtime.Source
}

// Sources lists what a session's agent reads by itself.
type Sources struct {
	// Implicit is its allowed scope, "" if unset; Choices are those the runtime can enforce, the default first.
	Implicit string
	Choices  []string
	Files    []SourceNow
}

// NarrowestSources as Create.ImplicitSources asks for the narrowest scope that the runtime can enforce.
const NarrowestSources = "narrowest"
