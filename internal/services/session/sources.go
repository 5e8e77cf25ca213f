package session

import "harness/internal/runtime"

// What became of a source since its session began, as in SourceNow.State.
const (
	SourceSame    = "same"
	SourceChanged = "changed"
	SourceAdded   = "added"
	SourceRemoved = "removed"
	SourceUnknown = "unknown" // nothing was noted when the session began
)

// SourceNow is a file that a session's agent reads by itself.
type SourceNow struct {
	// Source is how it is now, and of a removed one how it was.
	runtime.Source
	State string
	// Began is how it was when the session began, nil when it was not there.
	Began *runtime.Source
}

// Sources reports what a session's agent reads by itself.
type Sources struct {
	// Implicit is how much that may be, "" when no one said; Choices are what the runtime can be held to, the first of
	// them unless sent otherwise.
	Implicit string
	Choices  []string
	Files    []SourceNow
}

// NarrowestSources as Create.ImplicitSources asks for as little as the runtime can be held to.
const NarrowestSources = "narrowest"
