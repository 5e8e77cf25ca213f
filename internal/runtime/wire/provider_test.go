package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// Each status of a model provider has a specific remedy, in every form in which a runtime reports the status.
func TestEveryStatusOfAProviderHasItsRemedy(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for status, row := range providerFailures {
		if other := seen[row.remedy]; other != 0 || row.remedy == "" || row.kind == nil {
			t.Errorf("%d and %d have the remedy %q of kind %v", status, other, row.remedy, row.kind)
		}
		seen[row.remedy] = status
		for _, raw := range []string{
			`{"message":"m","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":%d}}}`,
			`{"message":"m","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":%d}}}`,
			`{"message":"unexpected status %d Some Words: no","codexErrorInfo":"other"}`,
			`{"message":"exceeded retry limit, last status: %d W","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":null}}}`,
			`{"message":"API Error: %d {\"type\":\"error\"}","codexErrorInfo":null}`,
			`{"message":"m","codexErrorInfo":"internalServerError","httpStatusCode":%d}`,
			`{"message":"m","codexErrorInfo":null,"httpStatusCode":%d}`,
		} {
			raw = fmt.Sprintf(raw, status)
			if kind, remedy := failureKind(json.RawMessage(raw)); !errors.Is(kind, row.kind) || remedy != row.remedy {
				t.Errorf("%s: %v and %q", raw, kind, remedy)
			}
		}
	}
	for status, want := range map[int]error{418: runtime.ErrInvalidParams, 507: runtime.ErrProvider, 599: runtime.ErrProvider} {
		kind, remedy := failureKind(json.RawMessage(fmt.Sprintf(`{"httpStatusCode":%d}`, status)))
		if !errors.Is(kind, want) || !strings.Contains(remedy, fmt.Sprint(status)) {
			t.Errorf("%d: %v and %q", status, kind, remedy)
		}
	}
}

// Texts of agents that stand for a status, or contain it in a different form.
func TestSentencesWithAStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"Internal error: API Error: Repeated 529 Overloaded errors. The API is at capacity":                                      529,
		"Internal error: There's an issue with the selected model (claude-x). It may not exist":                                  404,
		"models/gemini-x is not found for API version v1beta, or is not supported for generateContent.":                          404,
		"Publisher Model `projects/p/locations/l/publishers/google/models/g` was not found or your project does not have access": 404,
		"Internal error: The model `gpt-x` does not exist or you do not have access to it. {\"errorName\":\"APIError\"}":         404,
		"Internal error: model: claude-x {\"errorName\":\"APIError\"}":                                                           404,
		"No endpoints found for some/model.":                               404,
		"Internal error: Insufficient Balance {\"service\":\"session\"}":   402,
		"Your credit balance is too low to access the Anthropic API.":      402,
		"Internal error: Request too large (max 32MB). Accumulated images": 413,
		"<html><title>413 Request Entity Too Large</title></html>":         413,
		"Rate limit reached for requests":                                  429,
		"This request would exceed your account's rate_limit.":             429,
		"Too Many Requests": 429,
		"You exceeded your current quota, please check your plan": 429,
		"Provider is overloaded":                                  529,
		"there's an issue with 404 lines":                         0,
		"the model says does not exist":                           0,
		strings.Repeat("x", saidAtMost) + "API Error: 404":        0,
	} {
		if status := StatusIn(text); status != want {
			t.Errorf("%q has status %d, want %d", text, status, want)
		}
	}
}

// A word of the runtime that is more specific than the status counts; a number in a text that is not a status does
// not.
func TestTextsWithMoreThanAStatus(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]error{
		`{"message":"m","codexErrorInfo":"unauthorized","httpStatusCode":400}`:          runtime.ErrAuthRequired,
		`{"message":"m","codexErrorInfo":"usageLimitExceeded","httpStatusCode":400}`:    runtime.ErrLimitReached,
		`{"message":"m","codexErrorInfo":"contextWindowExceeded","httpStatusCode":400}`: runtime.ErrTooLarge,
		`{"message":"read 404 lines of 503 files","codexErrorInfo":"other"}`:            nil,
		`{"message":"it failed","codexErrorInfo":null,"ofProvider":true}`:               runtime.ErrProvider,
	} {
		if kind, remedy := failureKind(json.RawMessage(raw)); !errors.Is(kind, want) || want == nil && remedy != "" {
			t.Errorf("%s: %v and %q", raw, kind, remedy)
		}
	}
}

// The end of a limit is part of its remedy, in every form in which the provider or the runtime reports it.
func TestEndOfLimitIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Rate limit reached. Please try again in 20s.":                     "ends in 20s.",
		"Please retry in 34.07s.":                                          "ends in 34.07s.",
		"You've hit your usage limit. Try again at 3:05 PM.":               "ends at 3:05 PM.",
		`{"error":{"type":"usage_limit_reached","resets_in_seconds":120}}`: "ends in 120 s.",
		`{"error":{"resets_at":1795737600}}`:                               "ends at 2026-11-27 00:00 UTC.",
		"Claude AI usage limit reached|1795737600":                         "ends at 2026-11-27 00:00 UTC.",
		"You've hit your limit - resets 3pm (UTC)":                         "ends 3pm (UTC).",
		`quota, {"@type":"RetryInfo","retryDelay":"34s"}`:                  "ends in 34 s.",
		"retry after 7":     "ends in 7 s.",
		"too many requests": "is reached. Wait",
	} {
		encoded, err := json.Marshal(map[string]any{"message": text, "codexErrorInfo": "usageLimitExceeded"})
		if err != nil {
			t.Fatal(err)
		}
		if kind, remedy := failureKind(encoded); !errors.Is(kind, runtime.ErrLimitReached) || !strings.Contains(remedy, want) {
			t.Errorf("%q: %v and %q, want %q", text, kind, remedy, want)
		}
	}
}
