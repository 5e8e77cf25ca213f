package wire

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"harness/internal/runtime"
)

// retry counts the attempts of a runtime that retries by itself.
type retry struct {
	Attempt int `json:"attempt"`
	Of      int `json:"of,omitempty"`
}

// reconnecting is the text that codex sends instead of a reason for a retry: "Reconnecting... 2/5".
var reconnecting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Reconnecting\b\D*(?:(\d{1,6})/(\d{1,6}))?`)
})

// tryAgain ends the remedy of a retry.
const tryAgain = "The agent tries again by itself; stop the turn to give up."

// retryOf reads a notification of a retry to reach the model; nil for any other one.
func retryOf(method, turnID string, raw json.RawMessage) runtime.Change {
	if method != MethodError && method != MethodWarning {
		return nil
	}
	var reported struct {
		WillRetry bool            `json:"willRetry"`
		Error     json.RawMessage `json:"error"`
		Retry     retry           `json:"retry"`
		Message   string          `json:"message"`
	}
	_ = json.Unmarshal(brief(raw), &reported) // the decoder skips members of another type
	var failed struct {
		Message string `json:"message"`
		Details string `json:"additionalDetails"`
	}
	_ = json.Unmarshal(reported.Error, &failed)
	message := cmp.Or(failed.Message, reported.Message)
	counted := reconnecting().FindStringSubmatch(message)
	if !reported.WillRetry && (method == MethodError || counted == nil) {
		return nil
	}
	change := runtime.TurnRetrying{TurnID: turnID, Attempt: max(0, reported.Retry.Attempt), Of: max(0, reported.Retry.Of),
		Reason: strings.TrimSpace(Clean(cmp.Or(failed.Details, message))), Remedy: retryRemedy(reported.Error),
		ProviderStatus: providerStatus(reported.Error)}
	if len(counted) > 0 && change.Attempt == 0 {
		change.Attempt, _ = strconv.Atoi(counted[1]) // no number is none
		change.Of, _ = strconv.Atoi(counted[2])
	}
	return change
}

// retryRemedy describes how a user can act during a retry. The failure's own remedy, to send the message again, does
// not apply.
func retryRemedy(failed json.RawMessage) string {
	_, remedy := failureKind(failed)
	for _, again := range []string{", then send the message again", ", or send the message again", " Send the message again",
		"Send the message again"} {
		if before, _, found := strings.Cut(remedy, again); found {
			remedy = strings.TrimSuffix(before, ".")
			break
		}
	}
	if remedy = strings.TrimSuffix(remedy, "."); remedy == "" {
		remedy = "Check the network, and that the model provider is up"
	}
	return remedy + ". " + tryAgain
}
