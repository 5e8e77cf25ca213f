package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Sentinels of every adapter, for errors.Is.
var (
	// ErrUnavailable: there is no runtime process. Wrapped with the cause and the remedy.
	ErrUnavailable = errors.New("runtime unavailable")
	// ErrProcessGone: the process exited, and another one may start. The last request had no effect unless the
	// process reported one. It is a kind of ErrUnavailable, with the same message.
	ErrProcessGone error = processGone{}
	// ErrTimeout: the runtime did not answer within the call's deadline.
	ErrTimeout = errors.New("runtime request timed out")
	// ErrThreadNotFound: the runtime has no such conversation.
	ErrThreadNotFound = errors.New("thread not found")
	// ErrNoActiveTurn: there is no turn to steer or interrupt.
	ErrNoActiveTurn = errors.New("no active turn")
	// ErrTurnActive: a turn is running, and the message must not steer it.
	ErrTurnActive = errors.New("another turn is running")
	// ErrRequestGone: the process that made the interactive request has ended.
	ErrRequestGone = errors.New("request is gone with its runtime process")
	// ErrUnsupported: the runtime does not support the operation.
	ErrUnsupported = errors.New("not supported by this runtime")
	// ErrInvalidParams: the runtime does not accept the form of the request.
	ErrInvalidParams = errors.New("invalid parameters")
	// ErrInvalidState: the request is impossible in the current state, for example while a turn runs.
	ErrInvalidState = errors.New("invalid state")
	// ErrAuthRequired: the runtime or its model provider requires a login.
	ErrAuthRequired = errors.New("authentication required")
	// ErrNotFound: the runtime has no object of this name.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge: the input exceeds the runtime's limit.
	ErrTooLarge = errors.New("too large")
	// ErrTransient: a retry may succeed.
	ErrTransient = errors.New("temporary failure of the runtime")
	// ErrProviderTimeout: a dependency of the runtime, such as its model provider, did not answer in time. It is a kind
	// of ErrTransient.
	ErrProviderTimeout = fmt.Errorf("the runtime waited in vain: %w", ErrTransient)
	// ErrProvider: the model provider failed, or could not be reached. It is a kind of ErrTransient.
	ErrProvider = fmt.Errorf("the model provider failed: %w", ErrTransient)
	// ErrLimitReached: the model provider's own limit is reached.
	ErrLimitReached = errors.New("a limit of the model provider is reached")
	// ErrOtherTurn: the running turn is not the named one. It is a kind of ErrNoActiveTurn.
	ErrOtherTurn = fmt.Errorf("another turn runs: %w", ErrNoActiveTurn)
)

type processGone struct{}

// Error implements error.
func (processGone) Error() string { return ErrUnavailable.Error() }

// Unwrap makes errors.Is match ErrUnavailable.
func (processGone) Unwrap() error { return ErrUnavailable }

// Refused reports whether an error is a refusal by the runtime or the adapter because of the request or the current
// state.
func Refused(err error) bool {
	for _, kind := range []error{ErrUnsupported, ErrInvalidParams, ErrInvalidState, ErrAuthRequired, ErrTooLarge} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// Error is a runtime's refusal of a request, in the provider's words. It may also match a sentinel.
type Error struct {
	// Runtime is the adapter name, for example "codex".
	Runtime string
	Method  string
	Code    int
	Message string
	Data    json.RawMessage
	// Kind is one of the sentinels above, several joined ones, or nil.
	Kind error
	// Login describes how to log in when Kind is ErrAuthRequired. It is "" when Message does so, or when unknown.
	Login string
}

// Error implements error in codex-manager's words.
func (e *Error) Error() string {
	return fmt.Sprintf("%s rpc error %d: %s", e.Runtime, e.Code, e.Message)
}

// Unwrap makes errors.Is match Kind.
func (e *Error) Unwrap() error { return e.Kind }

// ReplyError means that a runtime rejects a reply to an interactive request. It lists the replies the runtime
// accepts.
type ReplyError struct {
	// Field is the invalid part of the reply: decision, scope, choice, option, answers or response.
	Field   string
	Message string
}

// Error implements error.
func (e *ReplyError) Error() string { return e.Field + ": " + e.Message }

// ControlError means that a runtime does not enforce a requested level of a session. It lists the enforced levels.
type ControlError struct {
	Runtime string
	// Field is approvalPolicy, filesystemSandbox or networkAccess.
	Field, Value string
	Enforced     []string
	// Because is the reason, after a comma; "" when the runtime alone is the reason.
	Because string
	// Settings are the settings with the default level, if the session's creator named none; otherwise nil.
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
