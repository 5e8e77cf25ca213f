package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Sentinels of every adapter, to be tested with errors.Is.
var (
	// ErrUnavailable: there is no runtime process to talk to. Wrapped with the cause and the remedy.
	ErrUnavailable = errors.New("runtime unavailable")
	// ErrProcessGone: the process ended, and another one may follow. What it was sent last has had no effect unless it said
	// so before its end. It is a kind of ErrUnavailable, with the same words.
	ErrProcessGone error = processGone{}
	// ErrTimeout: the runtime did not answer within the call's deadline.
	ErrTimeout = errors.New("runtime request timed out")
	// ErrThreadNotFound: the runtime has no such conversation.
	ErrThreadNotFound = errors.New("thread not found")
	// ErrNoActiveTurn: there is no turn to steer or interrupt.
	ErrNoActiveTurn = errors.New("no active turn")
	// ErrTurnActive: a turn runs, and the message was not to be put into it.
	ErrTurnActive = errors.New("another turn is running")
	// ErrRequestGone: the interactive request died with its process.
	ErrRequestGone = errors.New("request is gone with its runtime process")
	// ErrUnsupported: the runtime cannot do what was asked.
	ErrUnsupported = errors.New("not supported by this runtime")
	// ErrInvalidParams: what was asked is not worded as the runtime takes it.
	ErrInvalidParams = errors.New("invalid parameters")
	// ErrInvalidState: what was asked cannot be done as things stand, for example while a turn runs.
	ErrInvalidState = errors.New("invalid state")
	// ErrAuthRequired: the runtime or its model provider wants a login first.
	ErrAuthRequired = errors.New("authentication required")
	// ErrNotFound: the runtime has nothing of the name that was given (any more).
	ErrNotFound = errors.New("not found")
	// ErrTooLarge: the input is larger than the runtime takes.
	ErrTooLarge = errors.New("too large")
	// ErrTransient: it may go well when it is tried again.
	ErrTransient = errors.New("temporary failure of the runtime")
	// ErrProviderTimeout: what the runtime itself waited for, its model provider for one, did not answer in time. It is a
	// kind of ErrTransient.
	ErrProviderTimeout = fmt.Errorf("the runtime waited in vain: %w", ErrTransient)
	// ErrProvider: the model provider failed, or could not be reached. It is a kind of ErrTransient.
	ErrProvider = fmt.Errorf("the model provider failed: %w", ErrTransient)
	// ErrLimitReached: the model provider serves no more for now, by a limit of its own.
	ErrLimitReached = errors.New("a limit of the model provider is reached")
	// ErrOtherTurn: not the turn that was named runs, another one does. It is a kind of ErrNoActiveTurn.
	ErrOtherTurn = fmt.Errorf("another turn runs: %w", ErrNoActiveTurn)
)

type processGone struct{}

// Error implements error.
func (processGone) Error() string { return ErrUnavailable.Error() }

// Unwrap makes errors.Is match ErrUnavailable.
func (processGone) Unwrap() error { return ErrUnavailable }

// Refused reports whether an error says that what was asked cannot be done as it was asked, or as things stand: in the
// runtime's words or the adapter's.
func Refused(err error) bool {
	for _, kind := range []error{ErrUnsupported, ErrInvalidParams, ErrInvalidState, ErrAuthRequired, ErrTooLarge} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Error is a runtime's own refusal of a request, kept as the provider said it. It may also match one of the sentinels.
type Error struct {
	// Runtime is the adapter name, for example "codex".
	Runtime string
	Method  string
	Code    int
	Message string
	Data    json.RawMessage
	// Kind is one of the sentinels above, several of them joined, or nil.
	Kind error
	// Login says how to log in where Kind is ErrAuthRequired; "" when Message does, or nothing is known.
	Login string
}

// Error implements error in codex-manager's words.
func (e *Error) Error() string {
	return fmt.Sprintf("%s rpc error %d: %s", e.Runtime, e.Code, e.Message)
}

// Unwrap makes errors.Is match Kind.
func (e *Error) Unwrap() error { return e.Kind }

// ReplyError says that a runtime does not take a reply to an interactive request, and what it takes instead.
type ReplyError struct {
	// Field is the part of the reply it is about: decision, scope, choice, option, answers or response.
	Field   string
	Message string
}

// Error implements error.
func (e *ReplyError) Error() string { return e.Field + ": " + e.Message }

// ControlError says that a runtime does not enforce a level a session was to run with, and which ones it does.
type ControlError struct {
	Runtime string
	// Field is approvalPolicy, filesystemSandbox or networkAccess.
	Field, Value string
	Enforced     []string
	// Because says why, after a comma; "" where the runtime is all the reason.
	Because string
	// Settings are those that choose the level of sessions whose creator named none, as this one's did; nil when it was
	// named.
	Settings []string
}

// Error implements error.
func (e *ControlError) Error() string {
	if len(e.Enforced) == 0 {
		return fmt.Sprintf("the %s runtime cannot enforce any %s, so it cannot be opened with %q", e.Runtime,
			e.Field, e.Value) + e.Because
	}
	text := fmt.Sprintf("the %s runtime cannot enforce %s %q; it can enforce: %s", e.Runtime, e.Field, e.Value,
		strings.Join(e.Enforced, ", ")) + e.Because
	if len(e.Settings) > 0 {
		text += "; name one of them, or set " + strings.Join(e.Settings, " or ") + " for who names none"
	}
	return text
}
