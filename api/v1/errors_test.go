package v1

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"harness/internal/runtime"
)

// A refusal by an adapter counts as an error in the request, and has the adapter's message.
func TestAdapterRefusalKeepsItsMessage(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/v1/sessions/s/tasks", http.NoBody)
	for kind, status := range map[error]int{runtime.ErrInvalidParams: 400, runtime.ErrTooLarge: 413,
		runtime.ErrAuthRequired: 409, runtime.ErrInvalidState: 400, runtime.ErrUnsupported: 400} {
		err := fmt.Errorf("%w: an image may be 5 MB large", kind)
		if got := refusalOf(err, r); got.status != status || got.message != err.Error() {
			t.Errorf("%v is reported as %d %s", kind, got.status, got.message)
		}
	}
}
