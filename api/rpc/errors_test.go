package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// What an adapter refuses by itself is told in its words, like what its runtime refuses.
func TestAdaptersRefusalsAreTold(t *testing.T) {
	t.Parallel()
	c := &call{method: &method{name: "session/send"}}
	for _, kind := range []error{runtime.ErrInvalidParams, runtime.ErrTooLarge, runtime.ErrAuthRequired,
		runtime.ErrInvalidState, runtime.ErrUnsupported} {
		told, err := json.Marshal(c.failed(t.Context(), fmt.Errorf("%w: an image may be 5 MB large", kind)))
		if err != nil || !strings.Contains(string(told), `"refused_by_runtime"`) || !strings.Contains(string(told), "5 MB") {
			t.Errorf("%v is told as %s, %v", kind, told, err)
		}
	}
}
