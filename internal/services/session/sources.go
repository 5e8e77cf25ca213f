package session

import "harness/internal/runtime"

// How a source changed since its session began (SourceNow.State).
const (
	SourceSame    = "same"
	SourceChanged = "changed"
	SourceAdded   = "added"
	SourceRemoved = "removed"
	SourceUnknown = "unknown" // the session began without a record
)

// SourceNow is a file that a session's agent reads without a request.
type SourceNow struct {
	// Source is its current state; for a removed file, its last state.
	runtime.Source
	State string
	// Began is its state when the session began, nil if it did not exist then.
	Began *runtime.Source
}

// Sources lists the files that a session's agent reads without a request.
type Sources struct {
	// Implicit is the session's allowed scope, "" if unset. Choices are the scopes the runtime can enforce, the
	// default first.
	Implicit string
	Choices  []string
	Files    []SourceNow
}

// NarrowestSources requests, as Create.ImplicitSources, the narrowest scope that the runtime can enforce.
const NarrowestSources = "narrowest"
