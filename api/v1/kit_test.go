package v1_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/api/conns"
	"harness/api/router"
	v1 "harness/api/v1"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/services/tasks"
	"harness/tests/dbtest"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

// patience limits every wait; only a failure reaches it
const patience = time.Minute

func TestMain(m *testing.M) { scripted.Main(m) }

// site serves the task API for sessions of the scripted agent.
type site struct {
	*sessiontest.Site
	t     *testing.T
	tasks *tasks.Service
	api   *v1.Server
	url   string
	// served is the API, routed by path.
	served http.Handler
	// ended gets a value for each stream whose handler has returned.
	ended chan struct{}
	// deciding gets a value for each decision about a call.
	deciding chan struct{}
}

func open(t *testing.T, engine database.Engine, edits ...func(*v1.Options)) *site {
	t.Helper()
	s := &site{Site: sessiontest.Open(t, dbtest.Open(t, engine)), t: t, ended: make(chan struct{}, 1000),
		deciding: make(chan struct{}, 1000)}
	ops := operations.New(operations.Options{Sessions: sessiontest.Parts(s.Service), Controls: s.Site, Runtimes: s.Site})
	s.tasks = tasks.New(tasks.Options{Journal: s.Journal, DB: s.DB, Sessions: tasks.Sessions{Finder: s.Site, Turns: s.Site}, Operations: ops,
		Logger: zerolog.Nop(), Poll: 20 * time.Millisecond})
	s.Start(s.tasks)
	options := v1.Options{Tasks: s.tasks, Operations: ops, Actor: func(*http.Request) string { return "me" }}
	for _, edit := range edits {
		edit(&options)
	}
	s.api = v1.New(options)
	s.served = byPath(s.api)
	server := httptest.NewUnstartedServer(nil)
	limiter := conns.NewLimiter(conns.Options{AnswerTimeout: 5 * time.Second})
	server.Listener, server.Config = limiter.Listener(server.Listener), limiter.Server(http.HandlerFunc(s.serve))
	server.Config.RegisterOnShutdown(s.api.Close)
	limited := server.Config.ConnContext
	// The buffers to a stalled reader are small.
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if err := conns.Inner(conn).(*net.TCPConn).SetWriteBuffer(4096); err != nil {
			t.Error(err)
		}
		return limited(ctx, conn)
	}
	server.Start()
	s.url = server.URL
	t.Cleanup(func() {
		s.api.Close()
		server.Close()
	})
	return s
}

// byPath serves the routes of a server.
func byPath(server *v1.Server) http.Handler {
	served := router.New(http.NotFound)
	for _, route := range v1.Routes() {
		handler := server.Handler(route)
		served.Add(route.Method, route.Path, func(w http.ResponseWriter, r *http.Request, _, _ []string) { handler.ServeHTTP(w, r) })
	}
	return served
}

func each(t *testing.T, test func(t *testing.T, s *site), edits ...func(*v1.Options)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		test(t, open(t, engine, edits...))
	})
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/tool-calls/") {
		s.deciding <- struct{}{}
	}
	s.served.ServeHTTP(w, r)
	if strings.HasSuffix(r.URL.Path, "/events") {
		s.ended <- struct{}{}
	}
}

// awaitEnd waits until the handler of a stream or page of events has returned.
func (s *site) awaitEnd() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatal("the stream did not end")
	}
}

type object = map[string]any

// call sends a request. It sends a string body unchanged and no body for nil.
func (s *site) call(method, path string, body any) (int, object) {
	s.t.Helper()
	var sent io.Reader = http.NoBody
	switch given := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(given)
	default:
		encoded, err := json.Marshal(given)
		if err != nil {
			s.t.Fatal(err)
		}
		sent = strings.NewReader(string(encoded))
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, sent)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	raw, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		s.t.Fatal(err)
	}
	var answer object
	if err := json.Unmarshal(raw, &answer); err != nil {
		s.t.Fatalf("%s %s got %d %q", method, path, response.StatusCode, raw)
	}
	return response.StatusCode, answer
}

// want is call with an expected status.
func (s *site) want(status int, method, path string, body any) object {
	s.t.Helper()
	got, answer := s.call(method, path, body)
	if got != status {
		s.t.Fatalf("%s %s %v got %d %v, want %d", method, path, body, got, answer, status)
	}
	return answer
}

// refused is call with an expected status and code.
func (s *site) refused(status int, code, method, path string, body any) object {
	s.t.Helper()
	got, answer := s.call(method, path, body)
	if got != status || answer["error"] != code {
		s.t.Errorf("%s %s %.200v got %d %v, want %d %s", method, path, body, got, answer, status, code)
	}
	return answer
}

// ask opens a session in mode ask and returns its path.
func (s *site) ask() string {
	s.t.Helper()
	made := s.want(http.StatusCreated, http.MethodPost, "/v1/sessions", object{"permission_mode": "ask"})
	return "/v1/sessions/" + text(made, "session_id")
}

// task creates a task.
func (s *site) task(base, id, said string) {
	s.t.Helper()
	s.want(http.StatusAccepted, http.MethodPost, base+"/tasks",
		object{"task_id": id, "messages": []object{{"role": "user", "content": said}}})
}

// idOf returns the session id in a session's path.
func idOf(base string) string { return strings.TrimPrefix(base, "/v1/sessions/") }

// over waits for the end of a task and returns its status.
func (s *site) over(base, id string) string {
	s.t.Helper()
	var task tasks.Task
	s.Until("the end of "+id, func(ctx context.Context) bool {
		var err error
		if task, err = s.tasks.Get(ctx, idOf(base), id); err != nil {
			s.t.Fatal(err)
		}
		return task.Status.Over()
	})
	return string(task.Status)
}

// page returns all events of a session as they were written.
func (s *site) page(base string) []string {
	s.t.Helper()
	var all []string
	for _, event := range s.want(http.StatusOK, http.MethodGet, base+"/events?limit=5000", nil)["events"].([]any) {
		all = append(all, written(event))
	}
	return all
}

// written formats a value as JSON with its members in order.
func written(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

func text(value any, path ...string) string {
	for _, name := range path {
		members, _ := value.(object)
		value = members[name]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// frame is one frame of a stream. An event of the session has an id, an event about the stream has a name, and a
// heartbeat is a comment.
type frame struct {
	event, id, comment string
	data               object
}

// reader follows a stream.
type reader struct {
	t        *testing.T
	lines    *bufio.Reader
	response *http.Response
	cancel   context.CancelFunc
}

// follow opens a stream. header is its Last-Event-ID, "" for none.
func (s *site) follow(base, query, header string) *reader {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+base+"/events"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	if header != "" {
		request.Header.Set("Last-Event-ID", header)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return &reader{s.t, bufio.NewReader(response.Body), response, cancel}
}

// next returns the next frame, or io.EOF if the stream ended normally.
func (r *reader) next() (f frame, err error) {
	r.t.Helper()
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return f, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n":
			return f, nil
		case name == "":
			f.comment = value
		case name == "event":
			f.event = value
		case name == "id":
			f.id = value
		case name == "data":
			if err := json.Unmarshal([]byte(value), &f.data); err != nil {
				r.t.Fatalf("%q: %v", line, err)
			}
		default:
			r.t.Fatalf("the stream has the line %q", line)
		}
	}
}

// until reads up to the first matching frame and returns all frames read.
func (r *reader) until(what string, fits func(frame) bool) (all []frame) {
	r.t.Helper()
	for {
		f, err := r.next()
		if err != nil {
			r.t.Fatalf("no %s came: %v after %v", what, err, all)
		}
		all = append(all, f)
		if fits(f) {
			return all
		}
	}
}

// event reads up to a task's first event of a type and returns its payload.
func (r *reader) event(kind, task string) object {
	r.t.Helper()
	all := r.until(kind+" of "+task, func(f frame) bool {
		return text(f.data, "type") == kind && text(f.data, "trace", "task_id") == task
	})
	return all[len(all)-1].data["payload"].(object)
}

// rest reads to the stream's normal end.
func (r *reader) rest() (all []frame) {
	r.t.Helper()
	for {
		f, err := r.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			r.t.Fatalf("the stream ends with %v", err)
		}
		all = append(all, f)
	}
}

// events returns the session's events among frames, as they were written.
func events(frames []frame) (all []string) {
	for _, f := range frames {
		if f.id != "" {
			all = append(all, written(f.data))
		}
	}
	return all
}

// kinds returns the types of a task's events. It merges consecutive equal types.
func kinds(page []string, task string) string {
	var all []string
	for _, one := range page {
		var e tasks.Event
		if err := json.Unmarshal([]byte(one), &e); err != nil {
			return err.Error()
		}
		if e.Trace.TaskID == task {
			all = append(all, e.Type)
		}
	}
	return strings.Join(slices.Compact(all), " ")
}
