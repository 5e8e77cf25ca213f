package agui_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/api"
	"harness/api/agui"
	"harness/api/sse"
	"harness/internal/lib/wake"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/tests/dbtest"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

func TestMain(m *testing.M) { scripted.Main(m) }

type object = map[string]any

// site serves AG-UI for sessions of the scripted agent.
type site struct {
	*sessiontest.Site
	t   *testing.T
	url string
}

// records are the records of the site's journal.
type records struct {
	*journal.Journal
	db *database.DB
}

// Newest implements agui.Journal.
func (r records) Newest(ctx context.Context, sessionID string) (int64, error) {
	return journal.Sequence(ctx, r.db.Read(), sessionID)
}

// noHealth is for routes that nothing here asks for.
type noHealth struct{ api.Health }

func each(t *testing.T, test func(s *site)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) { test(open(t, engine)) })
}

func open(t *testing.T, engine database.Engine) *site {
	t.Helper()
	s := &site{Site: sessiontest.Open(t, dbtest.Open(t, engine)), t: t}
	closing := make(chan struct{})
	server := httptest.NewServer(api.New(api.Options{Health: noHealth{},
		Operations: operations.New(operations.Options{Sessions: sessiontest.Parts(s.Service), Controls: s.Site, Runtimes: s.Site}),
		Protocols: api.Protocols{AGUI: agui.Options{Journal: records{s.Journal, s.DB}, Closing: closing, Streams: &sse.Limit{Most: 100},
			News: func(string) (<-chan struct{}, func()) {
				news := wake.New()
				_, cancel := s.Journal.Subscribe(func([]journal.Record) { news.Set() })
				return news, cancel
			}}}}))
	t.Cleanup(func() {
		close(closing)
		server.Close()
	})
	s.url = server.URL
	return s
}

// sent is one event with its id.
type sent struct {
	id, data string
}

func (e sent) kind() string { return e.value("type") }

// value returns a member of an event that is a text.
func (e sent) value(name string) string {
	members := object{}
	if json.Unmarshal([]byte(e.data), &members) != nil {
		return ""
	}
	text, _ := members[name].(string)
	return text
}

// stream is the answer to a request.
type stream struct {
	t      *testing.T
	status int
	body   io.ReadCloser
	lines  *bufio.Scanner
}

func (s *site) send(method, path, last string, body any) *stream {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	s.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(encoded))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &stream{s.t, answer.StatusCode, answer.Body, lines}
}

// rest returns the body of an answer that is no stream.
func (f *stream) rest() (string, error) {
	text, err := io.ReadAll(f.body)
	return string(text), err
}

// next returns the next event, or false at the end of the stream.
func (f *stream) next() (e sent, more bool) {
	for f.lines.Scan() {
		switch name, value, _ := strings.Cut(f.lines.Text(), ": "); name {
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.data != "" {
				return e, true
			}
		}
	}
	return e, false
}

// until returns the events up to the first one of a type.
func (f *stream) until(kind string) (all []sent) {
	f.t.Helper()
	for {
		e, more := f.next()
		if !more {
			f.t.Fatalf("the stream ended before %s: %v", kind, all)
		}
		if all = append(all, e); e.kind() == kind {
			return all
		}
	}
}

// whole returns all events of a stream that ends.
func (f *stream) whole() (all []sent) {
	for {
		e, more := f.next()
		if !more {
			return all
		}
		all = append(all, e)
	}
}

func kinds(events []sent) (all []string) {
	for _, e := range events {
		all = append(all, e.kind())
	}
	return all
}

func texts(events []sent) string {
	var all strings.Builder
	for _, e := range events {
		if e.kind() == "TEXT_MESSAGE_CONTENT" {
			all.WriteString(e.value("delta"))
		}
	}
	return all.String()
}

func says(run, text string) object {
	return object{"threadId": "any", "runId": run, "state": object{}, "tools": []any{}, "context": []any{},
		"messages":       []object{{"id": "m-0", "role": "assistant", "content": "before"}, {"id": "m-1", "role": "user", "content": text}},
		"forwardedProps": object{}}
}

func wantKinds(t *testing.T, what string, events []sent, want ...string) {
	t.Helper()
	// A text may come in one delta or in several.
	if got := slices.CompactFunc(kinds(events), func(a, b string) bool { return a == b && a == "TEXT_MESSAGE_CONTENT" }); !slices.Equal(got, want) {
		t.Errorf("%s has the events\n%q, want\n%q", what, got, want)
	}
}

// AG-01, AG-02: one run is one turn, with its ids; the session `new` is made by it, and its message is not said twice.
func TestARunIsATurn(t *testing.T) {
	each(t, func(s *site) {
		run := s.send(http.MethodPost, "/agui/new", "", says("r-1", "REPLY[hello you]")).whole()
		wantKinds(s.t, "the run", run, "RUN_STARTED", "STATE_SNAPSHOT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
			"TEXT_MESSAGE_END", "RUN_FINISHED")
		if text := texts(run); text != "hello you" {
			s.t.Errorf("it says %q", text)
		}
		session, turn := run[0].value("threadId"), run[0].value("runId")
		if state := s.Ended(session, turn); state.Status != runtime.TurnDone {
			s.t.Errorf("turn %s of session %s ended %s", turn, session, state.Status)
		}
		if again := s.send(http.MethodPost, "/agui/"+session, "", says("r-2", "FAIL[500]")).whole(); true {
			wantKinds(s.t, "a failed run", again, "RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR")
			if last := again[len(again)-1]; !strings.Contains(last.value("message"), "500") || last.value("code") != "turn_failed" {
				s.t.Errorf("the error is %s", last.data)
			}
		}
	})
}

// AG-03: a request of a person is an event, is decided over REST by its id, and the run goes on.
func TestARunAsks(t *testing.T) {
	each(t, func(s *site) {
		id := s.NewSession()
		run := s.send(http.MethodPost, "/agui/"+id, "", says("r", "RUN[echo done]"))
		asks := run.until("CUSTOM")
		var value struct{ Value struct{ ApprovalID string } }
		if err := json.Unmarshal([]byte(asks[len(asks)-1].data), &value); err != nil {
			s.t.Fatal(err)
		}
		if asked := s.Asked(id); asked.ID != value.Value.ApprovalID || asks[len(asks)-1].value("name") != "harness.request" {
			s.t.Errorf("the event is %s, the request %s", asks[len(asks)-1].data, asked.ID)
		}
		if answer := s.send(http.MethodPost, "/api/approvals/"+value.Value.ApprovalID+"/decision", "",
			object{"decision": "accept"}); answer.status != http.StatusOK {
			s.t.Fatalf("the decision is answered %d", answer.status)
		}
		all := append(asks, run.whole()...)
		got := kinds(all)
		for _, want := range [][]string{{"CUSTOM", "STATE_DELTA"}, {"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"},
			{"TOOL_CALL_RESULT"}, {"RUN_FINISHED"}} {
			if !strings.Contains(strings.Join(got, " "), strings.Join(want, " ")) {
				s.t.Errorf("no %q in %q", want, got)
			}
		}
		for _, e := range all {
			if e.kind() == "TOOL_CALL_RESULT" && e.value("content") != "done\n" {
				s.t.Errorf("the command's result is %s", e.data)
			}
		}
		if count := strings.Count(strings.Join(got, " "), "CUSTOM"); count != 2 {
			s.t.Errorf("%d events about the request in %q", count, got)
		}
	})
}

// AG-04: a stream that is cut after any event continues behind it, and says what an uncut one says.
func TestAStreamResumesBehindAnyEvent(t *testing.T) {
	each(t, func(s *site) {
		id := s.NewSession()
		run := s.send(http.MethodPost, "/agui/"+id, "", says("r", "RUN[echo done]"))
		all := run.until("CUSTOM")
		asked := s.Asked(id)
		if _, err := s.Settle(s.t.Context(), asked.ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "me"); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, run.whole()...)
		for i := range all {
			for name, resumed := range map[string]*stream{"header": s.send(http.MethodGet, "/agui/"+id, all[i].id, nil),
				"query": s.send(http.MethodGet, "/agui/"+id+"?after="+all[i].id, "", nil)} {
				if i == len(all)-1 {
					_ = resumed.body.Close()
					continue
				}
				rest := resumed.until("RUN_FINISHED")
				_ = resumed.body.Close()
				if !slices.Equal(rest, all[i+1:]) {
					s.t.Fatalf("behind event %d (%s, by %s) come\n%v, want\n%v", i, all[i].kind(), name, rest, all[i+1:])
				}
			}
		}
	})
}

// AG-05: who follows gets the conversation with the last run, and the runs of others with their messages.
func TestFollowingASession(t *testing.T) {
	each(t, func(s *site) {
		id := s.NewSession()
		s.Ended(id, s.Say(id, "REPLY[one]"))
		s.Ended(id, s.Say(id, "REPLY[two]"))
		follows := s.send(http.MethodGet, "/agui/"+id, "", nil)
		first := follows.until("RUN_FINISHED")
		wantKinds(s.t, "the last run", first, "RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "TEXT_MESSAGE_START",
			"TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED")
		var snapshot struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal([]byte(first[1].data), &snapshot); err != nil {
			s.t.Fatal(err)
		}
		var said []string
		for _, one := range snapshot.Messages {
			said = append(said, one.Role+": "+one.Content)
		}
		if want := []string{"user: REPLY[one]", "assistant: one", "user: REPLY[two]"}; !slices.Equal(said, want) ||
			first[0].id != "" || first[1].id != "" || texts(first) != "two" {
			s.t.Errorf("the conversation is %q, and the run says %q", said, texts(first))
		}
		s.Say(id, "REPLY[three]")
		if next := follows.until("RUN_FINISHED"); texts(next) != "REPLY[three]three" || next[0].id == "" {
			s.t.Errorf("the next run is %v", next)
		}
		halted := s.Say(id, "HOLD[x]")
		if _, err := s.StopTurn(s.t.Context(), id, halted, false); err != nil {
			s.t.Fatal(err)
		}
		if next := follows.until("RUN_FINISHED"); !strings.Contains(next[len(next)-1].data, `"result":{"interrupted":true}`) ||
			next[len(next)-2].kind() != "TEXT_MESSAGE_END" {
			s.t.Errorf("an interrupted run ends %v", next)
		}
	})
}

// AG-06: a repeated run is not sent again, a busy session is 409, and what is no run is refused with the reason.
func TestRunsThatAreRefused(t *testing.T) {
	each(t, func(s *site) {
		id := s.NewSession()
		first := s.send(http.MethodPost, "/agui/"+id, "", says("r", "HOLD[a]"))
		begun := first.until("TEXT_MESSAGE_CONTENT")
		for what, one := range map[string]struct {
			path, body string
			status     int
		}{
			"a busy session":          {id, `{"messages":[{"role":"user","content":"x"}]}`, http.StatusConflict},
			"no session":              {"nothing", `{"messages":[{"role":"user","content":"x"}]}`, http.StatusNotFound},
			"no message":              {id, `{"messages":[]}`, http.StatusBadRequest},
			"a tool's result":         {id, `{"messages":[{"role":"tool","content":"x"}]}`, http.StatusBadRequest},
			"a part that is no image": {id, `{"messages":[{"role":"user","content":[{"type":"audio"}]}]}`, http.StatusBadRequest},
			"tools of no session's": {s.NewSession(), `{"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a","description":"b"}]}`,
				http.StatusBadRequest},
		} {
			if answer := s.send(http.MethodPost, "/agui/"+one.path, "", json.RawMessage(one.body)); answer.status != one.status {
				s.t.Errorf("%s is answered %d", what, answer.status)
			}
		}
		if answer := s.send(http.MethodGet, "/agui/"+id, "no number", nil); answer.status != http.StatusBadRequest {
			s.t.Errorf("another id is answered %d", answer.status)
		}
		again := s.send(http.MethodPost, "/agui/"+id, "", says("r", "HOLD[a]"))
		if repeated := again.until("TEXT_MESSAGE_CONTENT"); !slices.Equal(repeated, begun) {
			s.t.Errorf("the same run is\n%v, was\n%v", repeated, begun)
		}
	})
}

// AG-10: a run makes its session as its properties say, takes images, and sends with `raw` what has no event.
func TestTheInputOfARun(t *testing.T) {
	each(t, func(s *site) {
		if tools := says("r", "REPLY[x]"); true {
			tools["tools"] = []object{{"name": "pick", "description": "Picks"}}
			if answer := s.send(http.MethodPost, "/agui/new", "", tools); answer.status != http.StatusBadRequest {
				s.t.Errorf("tools of a page are answered %d by a runtime without them", answer.status)
			}
		}
		folder := s.t.TempDir()
		input := says("r", "")
		input["forwardedProps"] = object{"cwd": folder, "model": "small", "runtime": scripted.Name}
		input["messages"] = []object{{"role": "user", "content": []object{{"type": "text", "text": "REPLY[one"}, {"type": "text", "text": "two]"}}}}
		run := s.send(http.MethodPost, "/agui/new?raw=1", "", input).whole()
		if texts(run) != "one\ntwo" || !slices.Contains(kinds(run), "RAW") {
			s.t.Errorf("the run is %v", run)
		}
		made, err := s.Lookup(s.t.Context(), run[0].value("threadId"))
		if err != nil || made.Cwd != folder || made.Controls.ModelName() != "small" {
			s.t.Errorf("the session is %+v (%v)", made, err)
		}
		image := object{"type": "image", "source": object{"type": "data", "mimeType": "image/png", "value": "bm9uZQ=="}}
		input["messages"] = []object{{"role": "user", "content": []object{{"type": "text", "text": "see"}, image}}}
		input["runId"] = "r-2"
		answer := s.send(http.MethodPost, "/agui/"+made.ID, "", input)
		if refusal, _ := answer.rest(); answer.status != http.StatusBadRequest || !strings.Contains(refusal, "image") {
			s.t.Errorf("what is no image is answered %d %s", answer.status, refusal)
		}
	})
}
