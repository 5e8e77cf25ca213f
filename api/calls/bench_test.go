package calls_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"

	"harness/api/calls"
	"harness/internal/services/audit"
)

// BenchmarkRecordedRequest measures the cost of recording a request, without its handler.
func BenchmarkRecordedRequest(b *testing.B) {
	recorder := audit.NewRecorder(nil, nil, zerolog.Nop())
	route := calls.Route{Protocol: "rest", Name: "POST /api/sessions/{sessionId}/transcript/upsert",
		Params: map[string]string{"sessionId": "01a21d5f-cb17-77b5-a5ee-0a287b7ff2e5"}}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Found(r.Context(), route)
		w.WriteHeader(http.StatusOK)
	})
	for name, sink := range map[string]calls.Sink{"recorded": recorder, "not": nil} {
		handler := calls.Middleware(sink, nil, calls.Admit(answer))
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodPost, "/x", nil)
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
