package v1

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"harness/internal/runtime"
)

// What an adapter refuses by itself is the request's fault, and told in the adapter's words.
func TestAdaptersRefusalsAreTold(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/v1/sessions/s/tasks", http.NoBody)
	for kind, status := range map[error]int{runtime.ErrInvalidParams: 400, runtime.ErrTooLarge: 413,
		runtime.ErrAuthRequired: 409, runtime.ErrInvalidState: 400, runtime.ErrUnsupported: 400} {
		err := fmt.Errorf("%w: an image may be 5 MB large", kind)
		if told := refusalOf(err, r); told.status != status || told.message != err.Error() {
			t.Errorf("%v is told as %d %s", kind, told.status, told.message)
		}
	}
}
