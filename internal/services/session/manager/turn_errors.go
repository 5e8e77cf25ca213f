package manager

import (
	"errors"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// The events that tell the audit log of errors of runtimes and their model providers. They show no frame.
const (
	eventTurnFailed   = "turn.failed"
	eventTurnRetrying = "turn.retrying"
)

// turnError is what is recorded of an error: what it is, and never its words, which may have a part of a key.
type turnError struct {
	TurnID  string `json:"turnId"`
	Runtime string `json:"runtime"`
	// Kind is "" when the runtime does not tell. ProviderStatus is the HTTP status of the model provider, 0 when that is
	// not known.
	Kind           string `json:"kind,omitempty"`
	ProviderStatus int    `json:"providerStatus,omitempty"`
	// Attempt and Of count the retries of the runtime.
	Attempt int `json:"attempt,omitempty"`
	Of      int `json:"of,omitempty"`
}

func (a arrival) turnError(kind string, about turnError) journal.Event {
	about.Runtime = a.runtime
	return journal.Event{SessionID: a.signal.ThreadID, TurnID: about.TurnID, Type: kind, Time: a.receivedAt, Source: session.EventSource,
		Payload: encode(about)}
}

// errorKind names the kind of a turn's error, "" for none. More than one may hold; the first that says what to do counts.
func errorKind(kind error) string {
	for _, known := range []struct {
		kind error
		name string
	}{
		{runtime.ErrAuthRequired, "auth_required"}, {runtime.ErrLimitReached, "limit_reached"},
		{runtime.ErrTooLarge, "too_large"}, {runtime.ErrProviderTimeout, "provider_timeout"},
		{runtime.ErrProvider, "provider_failed"}, {runtime.ErrTransient, "transient"},
		{runtime.ErrInvalidParams, "refused"}, {runtime.ErrInvalidState, "refused"}, {runtime.ErrNotFound, "not_found"},
		{runtime.ErrTimeout, "timeout"}, {runtime.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(kind, known.kind) {
			return known.name
		}
	}
	return ""
}
