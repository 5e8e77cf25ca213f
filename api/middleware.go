package api

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"harness/api/compress"
	"harness/api/conns"
	"harness/api/rest"
	"harness/internal/lib/ids"
	"harness/internal/platform/telemetry"
)

// observe gives every request an id, a logger and a trace, and logs one line when it ends.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.Clock()
		id := r.Header.Get("X-Request-Id")
		if !acceptableID(id) {
			id = ids.New()
		}
		w.Header().Set("X-Request-Id", id)
		n := &rest.Note{}
		caller, _ := telemetry.ParseTraceparent(r.Header.Get("Traceparent"))
		trace, ended := s.Span(caller, r.Method)
		ctx := telemetry.WithRequest(rest.WithNote(r.Context(), n), &s.Logger, id, trace)
		seen := &responseWatcher{ResponseWriter: w, coding: s.coder.Wanted(r)}
		seen.conn = conns.Of(r.Context())
		// The line is written even when a handler deliberately aborts the connection.
		defer func() {
			took := s.Clock().Sub(start)
			logRequest(ctx, r, seen, n, took)
			s.Answered(r.Method, n.Route, seen.status, took)
			ended(n.Route, seen.status, start, took)
		}()
		next.ServeHTTP(seen, r.WithContext(ctx))
	})
}

func logRequest(ctx context.Context, r *http.Request, seen *responseWatcher, n *rest.Note, took time.Duration) {
	level := zerolog.InfoLevel
	switch r.URL.Path {
	case "/api/health", "/api/ready", "/readyz", "/healthz", "/metrics":
		level = zerolog.DebugLevel // probes would flood the log
	}
	event := telemetry.Line(ctx, level).Str("method", r.Method).Str("path", r.URL.Path).Int("status", seen.status).
		Int64("bytes", seen.bytes).
		Float64("ms", float64(took.Microseconds())/1000).Str("remote", r.RemoteAddr)
	if n.SessionID != "" {
		event = event.Str("session_id", n.SessionID)
	}
	if n.TurnID != "" {
		event = event.Str("turn_id", n.TurnID)
	}
	if n.Err != nil {
		event = event.Str("cause", n.Err.Error())
	}
	event.Msg("request")
}

// acceptableID rejects client ids that could forge log lines.
func acceptableID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// recoverPanics turns a panic into a logged 500. http.ErrAbortHandler is intended, not a defect.
func (s *server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler { //nolint:errorlint // the sentinel is panicked with as it is
				panic(cause)
			}
			telemetry.Log(r.Context()).Error().Interface("panic", cause).Bytes("stack", debug.Stack()).Msg("handler panicked")
			if seen, isWatcher := w.(*responseWatcher); isWatcher && seen.status != 0 {
				panic(http.ErrAbortHandler) // the client has a partial response: close the connection so that it does not appear complete
			}
			rest.WriteRaw(w, http.StatusInternalServerError, rest.JSONType, rest.InternalErrorBody())
		}()
		next.ServeHTTP(w, r)
	})
}

// eventStream is the content type of responses that do not end.
const eventStream = "text/event-stream"

// responseWatcher records the response, and the encodings that the client accepts.
type responseWatcher struct {
	http.ResponseWriter
	coding compress.Coding
	conn   *conns.Conn // nil: there is no limiter
	status int
	bytes  int64
}

// Compress implements rest.Compressor.
func (w *responseWatcher) Compress(header http.Header, body []byte) []byte {
	return w.coding.Encode(header, body)
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWatcher) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *responseWatcher) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.Header().Get("Content-Type") != eventStream {
		w.conn.Writes(len(data))
	}
	n, err := w.ResponseWriter.Write(data)
	w.bytes += int64(n)
	return n, err
}

// Unwrap supports http.ResponseController.
func (w *responseWatcher) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *responseWatcher) Flush() {
	// A writer that cannot flush has nothing to flush.
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker for websockets. They get the connection itself: the wrapper of package conns is
// only for HTTP.
func (w *responseWatcher) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := http.NewResponseController(w.ResponseWriter).Hijack()
	conn = conns.Inner(conn)
	if err == nil && w.status == 0 {
		w.status = http.StatusSwitchingProtocols
	}
	return conn, buffer, err
}
