package programtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"harness/tests/polling"
	"io"
	"net/http"
	"strings"
	"syscall"
)

// Object is decoded JSON.
type Object = map[string]any

// Call sends a request and returns the status and the body. body may be nil.
func (i *Server) Call(method, path string, body any) (int, Object) {
	i.T.Helper()
	status, raw, err := i.Try(method, path, body)
	if err != nil {
		i.T.Fatalf("%s %s: %v", method, path, err)
	}
	var decoded Object
	if err := json.Unmarshal(raw, &decoded); err != nil {
		i.T.Fatalf("%s %s answered %d %q", method, path, status, raw)
	}
	return status, decoded
}

// Try is Call for requests that may fail because the server dies.
func (i *Server) Try(method, path string, body any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, i.URL+path, reader)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range i.Headers {
		request.Header.Set(name, value)
	}
	response, err := i.Client().Do(request)
	if err != nil {
		return 0, nil, err
	}
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, raw, errors.Join(err, response.Body.Close())
}

// Client returns an HTTP client that shares its connections with the other requests to this server.
func (i *Server) Client() *http.Client {
	i.reached.Do(func() {
		if i.Host != nil {
			i.connections.DialContext = i.Host.Dial
		}
	})
	return &http.Client{Transport: &i.connections}
}

// Want sends a request and fails unless the response has the status.
func (i *Server) Want(status int, method, path string, body any) Object {
	i.T.Helper()
	got, answer := i.Call(method, path, body)
	if got != status {
		i.T.Fatalf("%s %s answered %d, want %d: %v", method, path, got, status, answer)
	}
	return answer
}

// CreateSession opens a session and returns its id.
func (i *Server) CreateSession(body any) string {
	i.T.Helper()
	i.WaitRuntime()
	answer := i.Want(http.StatusOK, http.MethodPost, "/api/sessions", body)
	return Text(answer, "session", "sessionId")
}

// Send posts a message and returns the turn's id.
func (i *Server) Send(session, message string) string {
	i.T.Helper()
	answer := i.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages", Object{"text": message})
	return Text(answer, "turnId")
}

// Transcript returns the session's transcript entries.
func (i *Server) Transcript(session string) []Object {
	i.T.Helper()
	answer := i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	var entries []Object
	for _, entry := range answer["transcript"].([]any) {
		entries = append(entries, entry.(Object))
	}
	return entries
}

// WaitRuntime waits until the default runtime is usable. Routes also wait for it, but this keeps the startup time out
// of a test's timing.
func (i *Server) WaitRuntime() {
	i.T.Helper()
	i.Eventually("the default runtime is ready", func() bool {
		_, health := i.Call(http.MethodGet, "/api/health", nil)
		if runtimes, has := health["runtimes"].([]any); has {
			return Text(runtimes[0], "state") == "ready"
		}
		return health["codex"].(Object)["initialized"] == true // a build with codex as its only runtime
	})
}

// Eventually polls for a condition that no event announces.
func (i *Server) Eventually(what string, condition func() bool) {
	i.T.Helper()
	if !polling.Until(Patience, condition) {
		i.T.Fatalf("never: %s", what)
	}
}

// Ask sends a request with headers and returns its status and body.
func (i *Server) Ask(method, path string, headers map[string]string) (int, string) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, i.URL+path, nil)
	if err != nil {
		i.T.Fatal(err)
	}
	for name, value := range headers {
		if request.Header.Set(name, value); name == "Host" {
			request.Host = value
		}
	}
	response, err := i.Client().Do(request)
	if err != nil {
		i.T.Fatalf("%s %s: %v", method, path, err)
	}
	body, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		i.T.Fatal(err, closed)
	}
	return response.StatusCode, string(body)
}

// TryAgain retries a turn that its session offers to retry, and returns the new turn.
func (i *Server) TryAgain(session, turn string) string {
	i.T.Helper()
	read := i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if offered := Text(read, "session", "retryableTurnId"); offered != turn {
		i.T.Errorf("%q is offered to be tried again, not %s", offered, turn)
	}
	return Text(i.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/turns/"+turn+"/retry", nil),
		"turnId")
}

// Approvals returns the pending approvals of a session.
func (i *Server) Approvals(session string) []any {
	i.T.Helper()
	return i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
}

// KillRuntime waits until codex runs and kills it with SIGKILL.
func (i *Server) KillRuntime() {
	i.T.Helper()
	i.SignalRuntime(syscall.SIGKILL)
}

// SignalRuntime waits until codex runs, sends it a signal, and returns its process id. It must never send a signal to
// process 0, which means the test's own process group.
func (i *Server) SignalRuntime(signal syscall.Signal) (pid int) {
	i.T.Helper()
	i.Eventually("codex runs", func() bool { pid = i.RuntimePID(); return pid > 0 })
	if err := syscall.Kill(pid, signal); err != nil {
		i.T.Fatal(err)
	}
	return pid
}

// RuntimePID returns the process id of codex, 0 if it does not run.
func (i *Server) RuntimePID() int {
	i.T.Helper()
	_, health := i.Call(http.MethodGet, "/api/health", nil)
	pid, _ := health["codex"].(Object)["pid"].(float64)
	return int(pid)
}

// Entries returns a session's entries of a type.
func (i *Server) Entries(session, entryType string) (found []Object) {
	i.T.Helper()
	for _, e := range i.Transcript(session) {
		if e["type"] == entryType {
			found = append(found, e)
		}
	}
	return found
}

// Decide accepts an approval.
func (i *Server) Decide(approval string) {
	i.T.Helper()
	i.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", Object{"decision": "accept"})
}

// Show sends a request and returns the whole response.
func (i *Server) Show(request *http.Request) string {
	i.T.Helper()
	response, err := i.Client().Do(request)
	if err != nil {
		i.T.Fatal(err)
	}
	var out strings.Builder
	if err := response.Write(&out); err != nil {
		i.T.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		i.T.Fatal(err)
	}
	return out.String()
}
