package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// The kind of a turn's failure, and its remedy, follow from codex's own word, as recorded from the real one.
func TestKindOfAFailure(t *testing.T) {
	t.Parallel()
	type reported struct {
		kind   error
		remedy string
	}
	for raw, want := range map[string]reported{
		`{"message":"m","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}}}`:          {runtime.ErrAuthRequired, "Log in"},
		`{"message":"m","codexErrorInfo":"unauthorized"}`:                                           {runtime.ErrAuthRequired, "Log in"},
		`{"message":"m","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}`: {runtime.ErrLimitReached, "limit"},
		`{"message":"m","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}`:   {runtime.ErrProvider, "network"},
		`{"message":"m","codexErrorInfo":"usageLimitExceeded"}`:                                     {runtime.ErrLimitReached, "limit"},
		`{"message":"m","codexErrorInfo":"internalServerError"}`:                                    {runtime.ErrProvider, "later"},
		`{"message":"m","codexErrorInfo":"serverOverloaded"}`:                                       {runtime.ErrProvider, "later"},
		`{"message":"m","codexErrorInfo":"contextWindowExceeded"}`:                                  {runtime.ErrTooLarge, "too long"},
		`{"message":"m","codexErrorInfo":"badRequest"}`:                                             {runtime.ErrInvalidParams, ""},
		`{"message":"m","codexErrorInfo":"other"}`:                                                  {},
		`{"message":"m"}`: {}, `null`: {}, `"text"`: {},
	} {
		kind, remedy := failureKind(json.RawMessage(raw))
		if !errors.Is(kind, want.kind) || (remedy == "") != (want.remedy == "") || !strings.Contains(remedy, want.remedy) {
			t.Errorf("%s: %v and %q, want %v and %q in it", raw, kind, remedy, want.kind, want.remedy)
		}
	}
}
