package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// What to do about a failed turn follows from codex's own kind of error, as recorded of the real one.
func TestRemedy(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"message":"m","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}}}`:          "Log in",
		`{"message":"m","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}`: "limit",
		`{"message":"m","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}`:   "network",
		`{"message":"m","codexErrorInfo":"usageLimitExceeded"}`:                                     "limit",
		`{"message":"m","codexErrorInfo":"internalServerError"}`:                                    "later",
		`{"message":"m","codexErrorInfo":"contextWindowExceeded"}`:                                  "too long",
		`{"message":"m","codexErrorInfo":"other"}`:                                                  "",
		`{"message":"m"}`: "", `null`: "", `"text"`: "",
	} {
		if got := remedy(json.RawMessage(raw)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", raw, got, want)
		}
	}
}
