package wire

import (
	"encoding/json"
	"testing"

	"harness/internal/runtime"
)

// The messages of runtimes that retry to reach their model, and similar ones that are not retries.
func TestReadRetries(t *testing.T) {
	network := "The connection to the model provider failed. Check the network and the provider's address. " + tryAgain
	unknown := "Check the network, and that the model provider is up. " + tryAgain
	reason := "answered 429"
	for name, one := range map[string]struct {
		line string
		want runtime.Change
	}{
		"codex": {`{"method":"error","params":{"error":{"message":"Reconnecting... 2/5","codexErrorInfo":` +
			`{"responseStreamDisconnected":{"httpStatusCode":null}},"additionalDetails":"stream closed"},"willRetry":true,"threadId":"t","turnId":"u"}}`,
			runtime.TurnRetrying{TurnID: "u", Attempt: 2, Of: 5, Reason: "stream closed", Remedy: network}},
		"codex without a number": {`{"method":"error","params":{"error":{"message":"Reconnecting... waiting for network"},` +
			`"willRetry":true,"turnId":"u"}}`,
			runtime.TurnRetrying{TurnID: "u", Reason: "Reconnecting... waiting for network", Remedy: unknown}},
		"a warning": {`{"method":"warning","params":{"threadId":"t","message":"Reconnecting... 1/5"}}`,
			runtime.TurnRetrying{Attempt: 1, Of: 5, Reason: "Reconnecting... 1/5", Remedy: unknown}},
		"one that counts": {string(Retrying(Place{"t", "u"}, Failure{Message: reason + "; attempt 1 of 2", Details: &reason,
			Kind: json.RawMessage(`"usageLimitExceeded"`)}, 1, 2).Raw), runtime.TurnRetrying{TurnID: "u", Attempt: 1, Of: 2, Reason: reason,
			Remedy: "The model provider's limit is reached. Wait or raise the limit. " + tryAgain, ProviderStatus: 429}},
		"another warning": {`{"method":"warning","params":{"threadId":"t","message":"Model metadata not found"}}`, nil},
		"the last error":  {`{"method":"error","params":{"error":{"message":"Reconnecting... 5/5"},"willRetry":false,"turnId":"u"}}`, nil},
		"nonsense":        {`{"method":"error","params":{"error":[],"willRetry":"yes"}}`, nil},
	} {
		method, at, ok := LayoutOf([]byte(one.line))
		if got := Read([]byte(one.line), method, at).Change; !ok || got != one.want {
			t.Errorf("%s is read as %+v, want %+v", name, got, one.want)
		}
	}
}
