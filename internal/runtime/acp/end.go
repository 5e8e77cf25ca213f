package acp

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// outcome is the answer to session/prompt.
type outcome struct {
	StopReason string `json:"stopReason"`
	Usage      *struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cachedReadTokens"`
		CacheWrite int64 `json:"cachedWriteTokens"`
		Thought    int64 `json:"thoughtTokens"`
	} `json:"usage"`
	Meta struct {
		Quota struct {
			Tokens struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

// end handles the answer to a turn's message: the turn ends, with its open calls and requests.
func (t *translator) end(of *conversation, l *line, at int64) []runtime.Signal {
	var out outcome
	_ = json.Unmarshal(l.Result, &out) // the decoder skips members of an unexpected type
	turn := wire.Turn{ID: of.Turn, Status: runtime.TurnDone, StartedAt: of.StartedAt, CompletedAt: at}
	switch {
	case of.Unresponsive != "" && (l.Error != nil || out.StopReason == "cancelled"):
		turn.Status, turn.Error = runtime.TurnFailed, &wire.Failure{Message: of.Unresponsive}
	case l.Error != nil && of.Cancelled:
		turn.Status = runtime.TurnInterrupted
	case l.Error != nil:
		turn.Status, turn.Error = runtime.TurnFailed, failure(l.Error)
	case of.Cancelled && of.Declined && t.profile.RejectEndsTurn: // open requests ended with the turn
		turn.Status = runtime.TurnInterrupted
	case out.StopReason == "cancelled" && (of.Cancelled || !of.Declined || !t.profile.RejectEndsTurn):
		turn.Status = runtime.TurnInterrupted
	case t.profile.ErrorsAsText && out.StopReason == "end_turn" && of.Text != nil && of.Text.Message == "" &&
		!strings.HasPrefix(string(of.Text.all), "Warning:"):
		said := strings.TrimSpace(string(of.Text.all))
		turn.Status, turn.Error = runtime.TurnFailed, &wire.Failure{Message: said, Kind: failureKind(0, said), Status: providerStatus(0, said)}
	}
	signals := of.closeText(at)
	for len(of.Tools) > 0 {
		one := of.Tools[0]
		signals = append(append(signals, t.show(of, one, at)...), t.close(of, one, wire.StatusFailed, at)...)
	}
	for len(of.Asked) > 0 {
		signals = append(signals, of.resolve(of.Asked[0])...)
	}
	if last, known := out.tokens(); known {
		of.Total = of.Total.Plus(last)
		signals = append(signals, wire.TokenUsage(of.position(), of.Total, last, of.Window))
	}
	if of.Clears && turn.Status == runtime.TurnDone {
		cleared := wire.ConversationCleared(of.Turn + ":cleared")
		signals = append(signals, wire.ItemStarted(of.position(), cleared, at), wire.ItemCompleted(of.position(), cleared, at))
	}
	return append(signals, wire.TurnCompleted(of.Thread, turn))
}

// clears reports whether a message is the agent's command to clear the conversation.
func (p *Profile) clears(input []json.RawMessage) bool {
	var only struct{ Type, Text string }
	return p.Clear != "" && len(input) == 1 && json.Unmarshal(input[0], &only) == nil && only.Type == "text" &&
		strings.TrimSpace(only.Text) == p.Clear
}

// tokens returns the usage of the turn; cached tokens count as input.
func (o *outcome) tokens() (used wire.Tokens, known bool) {
	switch quota := o.Meta.Quota.Tokens; {
	case o.Usage != nil:
		used = wire.Tokens{Input: o.Usage.Input + o.Usage.CacheRead + o.Usage.CacheWrite, Cached: o.Usage.CacheRead,
			Output: o.Usage.Output + o.Usage.Thought, Reasoning: o.Usage.Thought}
	default:
		used = wire.Tokens{Input: quota.Input, Output: quota.Output}
	}
	used.Total = used.Input + used.Output
	return used, used.Total > 0
}

// readOf is the number of bytes of a failure's text to search for its kind.
const readOf = 64 << 10

// failure returns the neutral failure of a turn.
func failure(r *refusal) *wire.Failure {
	message := r.Message
	var nested struct {
		Error struct {
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	kind := r.Message[:min(len(r.Message), readOf)] + " " + string(r.Data[:min(len(r.Data), readOf)])
	if json.Unmarshal([]byte(r.Message), &nested) == nil && nested.Error.Message != "" {
		message = nested.Error.Message // Gemini passes on its model's message
		for _, detail := range nested.Error.Details {
			kind += " " + detail.Reason
		}
	}
	code, status := r.Code, r.status(kind)
	if code == http.StatusInternalServerError && status == 0 {
		code = 0 // see providerStatus
	}
	failed := &wire.Failure{Message: wire.Clean(message), Kind: failureKind(code, kind), Status: status}
	failed.OfProvider = failed.Status == 0 && failed.Kind == nil && r.ofProvider()
	return failed
}

// status returns the HTTP status of the model provider in a refusal, 0 for none.
func (r *refusal) status(said string) int {
	var data struct {
		Kind string `json:"errorKind"`
	}
	_ = json.Unmarshal(r.Data, &data) // data of another type has none
	if status := providerStatus(r.Code, said); status != 0 {
		return status
	}
	return map[string]int{"model_not_found": http.StatusNotFound, "billing_error": http.StatusPaymentRequired}[data.Kind]
}

// ofProvider reports whether the model's provider failed: Gemini CLI uses an HTTP code for it, OpenCode the name of
// its error.
func (r *refusal) ofProvider() bool {
	var data struct {
		Name string `json:"errorName"`
	}
	_ = json.Unmarshal(r.Data, &data) // data of another type has none
	return r.Code == http.StatusInternalServerError || data.Name == "APIError"
}

// beginsWithStatus matches failures with the status before the provider's message.
var beginsWithStatus = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:Error:\s*)?([45]\d\d)\b`)
})

// providerStatus returns the HTTP status of the model provider, 0 for none. Some agents use it as the protocol's
// code, others put it into the text.
func providerStatus(code int, said string) int {
	if code == http.StatusInternalServerError {
		if !strings.HasPrefix(strings.TrimSpace(said), "{") {
			code = 0 // no answer of the provider: Gemini CLI uses this code for every failure without a status
		}
		return cmp.Or(wire.StatusIn(said), code)
	}
	if code >= 400 && code < 600 {
		return code
	}
	if found := beginsWithStatus().FindStringSubmatch(said); found != nil {
		status, _ := strconv.Atoi(found[1]) // three digits are a number
		return status
	}
	return wire.StatusIn(said)
}

// failureKind returns the neutral kind of a failure, nil if unknown. The protocol itself has few codes; agents add
// the model's HTTP status, a name, or a sentence.
func failureKind(code int, said string) json.RawMessage {
	said = said[:min(len(said), readOf)]
	is := func(pattern string) bool { return regexp.MustCompile(`(?i)` + pattern).MatchString(said) }
	var word string
	switch {
	case code == codeAuthRequired || code == 401 || code == 403 ||
		is(`API_KEY_INVALID|authentication|ProviderAuthError|unauthorized|missing environment variable|\b401\b`) ||
		is(`(incorrect|invalid|missing|no)\W+(x-)?(api|auth)\w*\W+(key|token|credential)`):
		word = "unauthorized"
	case code == 429 || is(`rate.?limit|quota|\b429\b`):
		word = "usageLimitExceeded"
	case is(`context.?(length|window|overflow)|maximum number of tokens|prompt is too long|prompt_too_long`):
		word = "contextWindowExceeded"
	case code >= 500 || is(`overloaded|\b5\d\d\b`):
		word = "internalServerError"
	default:
		return nil
	}
	return json.RawMessage(`"` + word + `"`)
}
