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

// Route is what a request was for. Name has the method and the pattern of the path, never the path itself: a path may
// have a secret.
type Route struct {
	Protocol, Name string
	Params         map[string]string
	// OwnRecords says that the handler records what it carries out: only what is refused before is recorded here.
	OwnRecords bool
}

// Changes reports whether requests of an HTTP method may change something.
func Changes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// Middleware records each request that may change something, whatever next answers. It stands outside of the guard, with
// Admit inside of it. find returns what a request was for that did not get as far as Found: it was refused before; false of
// what no route is for. A nil sink records nothing.
func Middleware(sink Sink, find func(*http.Request) (Route, bool), next http.Handler) http.Handler {
	if sink == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := &note{sink: sink}
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		if !Changes(r.Method) {
			next.ServeHTTP(w, r) // its socket may bring calls that do
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

// record records a request; status 0 is one whose handler gave up its connection.
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
	if n.admitted { // no other caller chooses what stands in the log
		call.SessionID = short(cmp.Or(n.session, route.Params["sessionId"]))
		call.TaskID = short(cmp.Or(n.task, route.Params["taskId"]))
		call.Params = paramsOf(route.Params)
	}
	n.sink.Record(call, n.traceID)
}

// outcomeOf is what a status says in one word.
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

// statusClientGone is what requests are answered with whose client hung up.
const statusClientGone = 499

// maxParam bounds a parameter in the log, in bytes.
const maxParam = 200

func short(value string) string { return value[:min(len(value), maxParam)] }

// paramsOf are the parameters of a path as the log has them.
func paramsOf(params map[string]string) string {
	if len(params) == 0 {
		return ""
	}
	bounded := make(map[string]string, len(params))
	for name, value := range params {
		bounded[name] = short(value)
	}
	text, err := json.Marshal(bounded)
	if err != nil { // texts always marshal
		return ""
	}
	return string(text)
}

// Admit notes who a request is of. It stands inside of the guard: who does not get here is anonymous.
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

// statusWatcher remembers how a request was answered.
type statusWatcher struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWatcher) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK { // what comes before is no answer
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWatcher) Write(data []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(data)
}

// Unwrap serves http.ResponseController.
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
