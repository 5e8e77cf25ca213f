package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"harness/internal/runtime"
)

const (
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeRefused        = -32000
	codeOverloaded     = -32001
)

// Refusal returns an error answer of codex in its neutral form.
func Refusal(method string, code int, message string) *runtime.Error {
	e := &runtime.Error{Runtime: Name, Method: method, Code: code, Message: message}
	if e.Kind = kindOf(e.Error()); errors.Is(e.Kind, runtime.ErrAuthRequired) {
		e.Login = remedy
	}
	return e
}

func refusal(method string, e *rpcError) *runtime.Error {
	refused := Refusal(method, e.Code, e.Message)
	refused.Data = e.Data
	if bytes.Contains(e.Data, []byte(`"input_too_large"`)) {
		refused.Kind = errors.Join(refused.Kind, runtime.ErrTooLarge)
	}
	return refused
}

// kinds are the texts that classify codex's refusals. Nearly all have the code -32600, and some messages quote
// another code.
var kinds = []struct {
	kind  error
	parts []string
}{
	{runtime.ErrThreadNotFound, []string{
		"thread not found", "thread not loaded", "no rollout found", "no archived rollout found", "invalid thread id",
		"invalid session id", "conversation not found", "invalid conversation id",
	}},
	{runtime.ErrNotFound, []string{"not found", "already resolved"}},
	{runtime.ErrOtherTurn, []string{"expected active turn id"}},
	{runtime.ErrNoActiveTurn, []string{"no active turn"}},
	{runtime.ErrUnsupported, []string{"-32601", "method not found", "unknown variant", "experimental api capability"}},
	{runtime.ErrInvalidParams, []string{"-32602", "missing field", "invalid type"}},
	{runtime.ErrAuthRequired, []string{"unauthorized", "missing bearer or basic authentication",
		"authentication required"}},
	{runtime.ErrInvalidState, []string{"-32600", "turn is in progress", "already in progress"}},
	{runtime.ErrProviderTimeout, []string{"timed out"}},
	{runtime.ErrTransient, []string{"timeout", "temporarily unavailable", "includeturns", "not materialized"}},
}

// readOf is the number of bytes of an error's text to search for its kind.
const readOf = 64 << 10

// kindOf joins every kind with a matching part at the beginning of an error's text.
func kindOf(text string) error {
	text = strings.ToLower(text[:min(len(text), readOf)])
	var found []error
	for _, k := range kinds {
		if slices.ContainsFunc(k.parts, func(part string) bool { return strings.Contains(text, part) }) {
			found = append(found, k.kind)
		}
	}
	return errors.Join(found...)
}

// FailureKind implements runtime.FailureReader. codex's own kind is often "other"; the message is more specific.
func (c *Codex) FailureKind(turn runtime.Turn) error { return failureKind(turn.Kind, turn.Error) }

func failureKind(sentinel error, message string) error { return errors.Join(sentinel, kindOf(message)) }

// activeTurnIn returns the running turn's id in a refusal like "expected active turn id `x` but found `y`".
func activeTurnIn(err error) string {
	native, ok := asNative(err)
	if !ok {
		return ""
	}
	_, rest, ok := strings.Cut(native.Message, "but found ")
	if !ok {
		return ""
	}
	id := strings.Trim(strings.TrimSpace(rest), "`.'\"")
	if id == "" || strings.ContainsAny(id, " `") {
		return ""
	}
	return id
}

// alreadyInitialized reports whether an error is the refusal of a second initialize.
func alreadyInitialized(err error) bool {
	native, ok := asNative(err)
	return ok && strings.Contains(native.Message, "Already initialized")
}

func unknownMethod(err error) bool {
	native, ok := asNative(err)
	return ok && (native.Code == codeMethodNotFound || strings.Contains(native.Message, "unknown variant"))
}

func rawString(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return raw
}

func asNative(err error) (*runtime.Error, bool) {
	var native *runtime.Error
	ok := errors.As(err, &native)
	return native, ok
}
