package conns

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"harness/api/rest"
)

// A starting server responds to readiness checks immediately. Other requests wait for it for a limited time.
func TestStartupGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := NewStartupGate()
		ask := func(path string) (*httptest.ResponseRecorder, time.Duration) {
			w, began := httptest.NewRecorder(), time.Now()
			gate.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return w, time.Since(began)
		}
		for path, wait := range map[string]time.Duration{"/api/ready": 0, "/readyz": 0, "/api/sessions": startupPatience} {
			w, took := ask(path)
			if w.Code != http.StatusServiceUnavailable || took != wait || w.Header().Get("Retry-After") == "" ||
				w.Header().Get("Content-Type") != rest.JSONType || !strings.Contains(w.Body.String(), `"code":"starting"`) {
				t.Errorf("%s: %d %s after %v", path, w.Code, w.Body, took)
			}
		}
		if w, took := ask("/healthz"); w.Code != http.StatusOK || took != 0 || w.Body.String() != AliveBody {
			t.Errorf("while it starts the process is %d %s after %v", w.Code, w.Body, took)
		}
		waited := make(chan int)
		go func() {
			w, _ := ask("/api/sessions")
			waited <- w.Code
		}()
		synctest.Wait()
		gate.Open(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
		if code := <-waited; code != http.StatusTeapot {
			t.Errorf("the waiting request got %d", code)
		}
		if w, _ := ask("/api/ready"); w.Code != http.StatusTeapot {
			t.Errorf("once open, readiness is %d", w.Code)
		}
	})
}
