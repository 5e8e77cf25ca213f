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

// Call makes a request and returns status and body. body may be nil.
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

// Try is call for requests that may fail because the server dies.
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

// Client shares its connections with the other requests to this server.
func (i *Server) Client() *http.Client {
	i.reached.Do(func() {
		if i.Host != nil {
			i.connections.DialContext = i.Host.Dial
		}
	})
	return &http.Client{Transport: &i.connections}
}

// Want makes a request that must be answered with the status.
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

// Transcript reads the session's transcript entries.
func (i *Server) Transcript(session string) []Object {
	i.T.Helper()
	answer := i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	var entries []Object
	for _, entry := range answer["transcript"].([]any) {
		entries = append(entries, entry.(Object))
	}
	return entries
}

// WaitRuntime returns when the default runtime is usable; routes wait for it by themselves, this makes start-up no part
// of a test's timing.
func (i *Server) WaitRuntime() {
	i.T.Helper()
	i.Eventually("the default runtime is ready", func() bool {
		_, health := i.Call(http.MethodGet, "/api/health", nil)
		if runtimes, has := health["runtimes"].([]any); has {
			return Text(runtimes[0], "state") == "ready"
		}
		return health["codex"].(Object)["initialized"] == true // a build from before there were others
	})
}

// Eventually polls for a condition that no event announces.
func (i *Server) Eventually(what string, condition func() bool) {
	i.T.Helper()
	if !polling.Until(Patience, condition) {
		i.T.Fatalf("never: %s", what)
	}
}

// Ask makes a request with headers and returns its status and body.
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

// TryAgain has a turn tried again that its session offers, and returns the new one.
func (i *Server) TryAgain(session, turn string) string {
	i.T.Helper()
	read := i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if offered := Text(read, "session", "retryableTurnId"); offered != turn {
		i.T.Errorf("%q is offered to be tried again, not %s", offered, turn)
	}
	return Text(i.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/turns/"+turn+"/retry", nil),
		"turnId")
}

// Approvals are those of a session that wait.
func (i *Server) Approvals(session string) []any {
	i.T.Helper()
	return i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
}

// KillRuntime ends codex with SIGKILL, once it runs.
func (i *Server) KillRuntime() {
	i.T.Helper()
	i.SignalRuntime(syscall.SIGKILL)
}

// SignalRuntime sends codex a signal, once it runs, and returns its process id. A signal to the process 0 would be one to
// the test's own group.
func (i *Server) SignalRuntime(signal syscall.Signal) (pid int) {
	i.T.Helper()
	i.Eventually("codex runs", func() bool { pid = i.RuntimePID(); return pid > 0 })
	if err := syscall.Kill(pid, signal); err != nil {
		i.T.Fatal(err)
	}
	return pid
}

// RuntimePID is the process id of codex, 0 when it does not run.
func (i *Server) RuntimePID() int {
	i.T.Helper()
	_, health := i.Call(http.MethodGet, "/api/health", nil)
	pid, _ := health["codex"].(Object)["pid"].(float64)
	return int(pid)
}

// Entries are a session's entries of a type.
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

// Show makes a request and returns all of its answer.
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
