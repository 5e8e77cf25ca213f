package codex

import (
	"encoding/json"
	"errors"
	"strings"

	"harness/runtime"
)

const (
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeRefused        = -32000
	codeOverloaded     = -32001
)

// refusal turns a native error into the neutral one. codex uses -32600 for nearly everything, so only the text tells the kinds apart.
func refusal(method string, e *rpcError) *runtime.Error {
	return &runtime.Error{Runtime: Name, Method: method, Code: e.Code, Message: e.Message, Data: e.Data, Kind: kindOf(e.Message)}
}

func kindOf(message string) error {
	text := strings.ToLower(message)
	for _, part := range []string{
		"thread not found", "thread not loaded", "no rollout found", "no archived rollout found", "invalid thread id", "invalid session id",
		"conversation not found",
	} {
		if strings.Contains(text, part) {
			return runtime.ErrThreadNotFound
		}
	}
	if strings.Contains(text, "no active turn") || strings.Contains(text, "expected active turn id") {
		return runtime.ErrNoActiveTurn
	}
	return nil
}

// activeTurnIn is the turn id a refusal of the kind "expected active turn id `x` but found `y`" says is the running one.
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

// alreadyInitialized tells that a connection was opened before.
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

// remedy is what a person can do about a turn's error, by codex's own kind of it, "" when that says nothing.
func remedy(raw json.RawMessage) string {
	var e struct {
		Info json.RawMessage `json:"codexErrorInfo"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return ""
	}
	var kind string
	var byKind map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(e.Info, &kind) != nil && json.Unmarshal(e.Info, &byKind) == nil {
		for name, detail := range byKind {
			kind = name
			switch detail.Status {
			case 401, 403:
				kind = "unauthorized"
			case 429:
				kind = "usageLimitExceeded"
			}
		}
	}
	switch kind {
	case "unauthorized":
		return "Log in to the model provider or check its API key, then send the message again."
	case "usageLimitExceeded":
		return "The model provider's limit is reached. Wait or raise the limit, then send the message again."
	case "serverOverloaded", "internalServerError":
		return "The model provider has a problem of its own. Send the message again later."
	case "contextWindowExceeded":
		return "The conversation is too long for the model. Compact it or begin a new one, then send the message again."
	case "responseStreamDisconnected", "responseStreamConnectionFailed", "httpConnectionFailed", "responseTooManyFailedAttempts":
		return "The connection to the model provider failed. Check the network and the provider's address, then send the message again."
	}
	return ""
}
