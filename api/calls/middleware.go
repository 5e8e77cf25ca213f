package calls

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"

	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/services/audit"
)

// Route is the route of a request. Name is the method and the path pattern, never the path itself, which may contain
// a secret.
type Route struct {
	Protocol, Name string
	Params         map[string]string
	// OwnRecords means that the handler records its actions. The middleware then records only requests refused before
	// it.
	OwnRecords bool
}

// Changes reports whether requests with an HTTP method may change something.
func Changes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// Middleware records each request that may change something, regardless of the response. It wraps the guard, with
// Admit inside the guard. find returns the route of a request that was refused before Found, or false if no route
// matches. With a nil sink it records nothing.
func Middleware(sink Sink, find func(*http.Request) (Route, bool), next http.Handler) http.Handler {
	if sink == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := &note{sink: sink}
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		if !Changes(r.Method) {
			next.ServeHTTP(w, r) // its socket may carry calls that do
			return
		}
		seen := &statusWatcher{ResponseWriter: w}
		returned := false
		defer func() {
			if returned {
				seen.status = cmp.Or(seen.status, http.StatusOK)
			}
			n.record(r, find, seen.status)
		}()
		next.ServeHTTP(seen, r)
		returned = true
	})
}

// record records a request. Status 0 means that the handler took over the connection.
func (n *note) record(r *http.Request, find func(*http.Request) (Route, bool), status int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	route := n.route
	if route == nil {
		found, is := find(r)
		if !is {
			return
		}
		route = &found
	}
	if route.OwnRecords && status != 0 && status < http.StatusBadRequest {
		return
	}
	actor, role := n.who()
	call := audit.Call{Actor: actor, Role: role, Protocol: route.Protocol, Route: route.Name,
		Outcome: outcomeOf(status), Status: status, Code: n.code}
	if n.admitted { // no other caller may choose the content of the log
		call.SessionID = short(cmp.Or(n.session, route.Params["sessionId"]))
		call.TaskID = short(cmp.Or(n.task, route.Params["taskId"]))
		call.Params = paramsOf(route.Params)
	}
	n.sink.Record(call, n.traceID)
}

// outcomeOf converts a status into an outcome.
func outcomeOf(status int) string {
	switch {
	case status == 0, status == statusClientGone:
		return "aborted"
	case status >= http.StatusInternalServerError:
		return "failed"
	case status >= http.StatusBadRequest:
		return "refused"
	}
	return "ok"
}

// statusClientGone is the status of requests whose client disconnected.
const statusClientGone = 499

// maxParam limits a parameter in the log, in bytes.
const maxParam = 200

func short(value string) string { return value[:min(len(value), maxParam)] }

// paramsOf returns the path parameters for the log.
func paramsOf(params map[string]string) string {
	if len(params) == 0 {
		return ""
	}
	bounded := make(map[string]string, len(params))
	for name, value := range params {
		bounded[name] = short(value)
	}
	text, err := json.Marshal(bounded)
	if err != nil { // strings always marshal
		return ""
	}
	return string(text)
}

// Admit notes the principal of a request. It runs inside the guard, so a request that does not reach it is anonymous.
func Admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := noteOf(r.Context()); n != nil {
			principal, _ := auth.PrincipalFrom(r.Context())
			n.mu.Lock()
			n.admitted, n.principal, n.traceID = true, principal, telemetry.IDsFrom(r.Context()).Trace.TraceID
			n.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// statusWatcher records the status of a response.
type statusWatcher struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWatcher) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK { // an informational status is no response
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWatcher) Write(data []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(data)
}

// Unwrap supports http.ResponseController.
func (w *statusWatcher) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *statusWatcher) Flush() {
	// A writer that cannot flush has nothing to flush.
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker.
func (w *statusWatcher) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}
