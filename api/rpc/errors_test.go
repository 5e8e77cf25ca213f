package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// A refusal by an adapter has the adapter's message, like a refusal by its runtime.
func TestAdapterRefusalKeepsItsMessage(t *testing.T) {
	t.Parallel()
	c := &call{method: &method{name: "session/send"}}
	for _, kind := range []error{runtime.ErrInvalidParams, runtime.ErrTooLarge, runtime.ErrAuthRequired,
		runtime.ErrInvalidState, runtime.ErrUnsupported} {
		got, err := json.Marshal(c.failed(t.Context(), fmt.Errorf("%w: an image may be 5 MB large", kind)))
		if err != nil || !strings.Contains(string(got), `"refused_by_runtime"`) || !strings.Contains(string(got), "5 MB") {
			t.Errorf("%v is reported as %s, %v", kind, got, err)
		}
	}
}
