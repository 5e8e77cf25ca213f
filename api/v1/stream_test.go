package v1_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "harness/api/v1"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/tasks"
)

func isEvent(kind, task string) func(frame) bool {
	return func(f frame) bool {
		return text(f.data, "type") == kind && text(f.data, "trace", "task_id") == task
	}
}

// EV-04, EV-05, EV-24, EV-28: a stream starts with its subject. A reader that reconnects, by header or query, gets
// exactly the missed events, whenever it disconnected.
func TestReconnectedReaderMissesNoEvent(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		base := s.ask()
		first := s.follow(base, "", "")
		if got := first.response.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("the stream is %s", got)
		}
		ready, err := first.next()
		if err != nil || ready.event != "ready" || written(ready.data) != `{"after_seq":0,"session_id":"`+idOf(base)+`"}` {
			t.Errorf("the stream begins with %+v %v", ready, err)
		}
		s.task(base, "one", "REPLY[hello world]")
		seen := first.until("a delta", isEvent(tasks.OutputDelta, "one"))
		first.cancel() // it disconnects while the task continues
		s.task(base, "two", "FAIL[asked to fail]")
		s.over(base, "two")
		all := s.page(base)
		again := s.follow(base, "", seen[len(seen)-1].id)
		seen = append(seen, again.until("the end", isEvent(tasks.TaskFailed, "two"))...)
		if got := events(seen); !slices.Equal(got, all) {
			t.Errorf("streamed were\n%s\nthe page has\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
		}
		if !strings.Contains(all[0], `"type":"session.created"`) || !strings.Contains(all[0], `"contract_version"`) {
			t.Errorf("the first event is %s", all[0])
		}
		if !strings.Contains(all[1], `"type":"task.started"`) ||
			!strings.Contains(all[1], `"messages":[{"content":[{"text":"REPLY[hello world]","type":"text"}],"role":"user"}]`) {
			t.Errorf("the task begins with %s", all[1])
		}
		for at := range all {
			number := strconv.Itoa(at)
			for query, header := range map[string]string{"": number, "?stream=1&after_seq=" + number: "1",
				"?stream=1&from_seq=" + number: ""} {
				if query == "" && at == 0 {
					continue
				}
				back := s.follow(base, query, header).until("the end", isEvent(tasks.TaskFailed, "two"))
				if got := events(back); !slices.Equal(got, all[at:]) {
					t.Errorf("from %d on (%q, %q) streamed were\n%s", at, query, header, strings.Join(got, "\n"))
				}
				if back[1].id != strconv.Itoa(at+1) {
					t.Errorf("the event after %d has the id %s", at, back[1].id)
				}
			}
		}
		for _, wrong := range []string{"x", "-1", "1.5", "9223372036854775807", "99999999999999999999"} {
			refused := s.follow(base, "", wrong)
			if refused.response.StatusCode != http.StatusBadRequest {
				t.Errorf("Last-Event-ID %s got %s", wrong, refused.response.Status)
			}
		}
	})
}

// An idle stream has heartbeats. It ends normally when the server stops or its session is deleted.
func TestIdleStreamSendsHeartbeatsAndEnds(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite, func(o *v1.Options) { o.Heartbeat = 5 * time.Millisecond })
	base, gone := s.ask(), s.ask()
	beats := func(r *reader) {
		r.until("a heartbeat", func(f frame) bool { return f.comment == "heartbeat" })
		r.until("another", func(f frame) bool { return f.comment == "heartbeat" })
	}
	deleted := s.follow(gone, "", "")
	beats(deleted)
	if _, err := s.Delete(t.Context(), idOf(gone)); err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(deleted.rest(), func(f frame) bool { return f.comment != "" })
	if len(left) != 1 || left[0].event != "error" || left[0].data["error"] != "session_deleted" {
		t.Errorf("the stream of a deleted session ends with %+v", left)
	}
	s.refused(http.StatusGone, "session_deleted", http.MethodGet, gone+"/events", nil)
	live := s.follow(base, "", "")
	beats(live)
	s.api.Close()
	if left := slices.DeleteFunc(live.rest(), func(f frame) bool { return f.comment != "" }); len(left) != 0 {
		t.Errorf("the stream of a server that stops ends with %+v", left)
	}
}

// held is a reader that reads up to a text, and continues once released.
type held struct {
	*httptest.ResponseRecorder
	at    string
	waits chan struct{}
	free  chan struct{}
	once  sync.Once
}

// Write implements http.ResponseWriter.
func (h *held) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(h.at)) {
		h.once.Do(func() {
			close(h.waits)
			<-h.free
		})
	}
	return h.ResponseRecorder.Write(p)
}

// hold serves a session's stream to a reader that stops at a text, and returns when it has stopped. goOn releases the
// reader and returns everything that it got.
func (s *site) hold(base, at string) (goOn func() string) {
	s.t.Helper()
	h := &held{ResponseRecorder: httptest.NewRecorder(), at: at, waits: make(chan struct{}), free: make(chan struct{})}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.served.ServeHTTP(h, httptest.NewRequestWithContext(ctx, http.MethodGet, base+"/events?stream=1", nil))
	}()
	select {
	case <-h.waits:
	case <-ctx.Done():
		s.t.Fatalf("%q never came", at)
	}
	return func() string {
		close(h.free)
		<-done
		if ctx.Err() != nil {
			s.t.Errorf("the stream did not end")
		}
		return h.Body.String()
	}
}

// EV-29: a reader that was up to date and falls too far behind gets an overflow, with the event to continue from.
// After a reconnect it gets everything, at its own pace.
func TestSlowReaderGetsOverflow(t *testing.T) {
	t.Parallel()
	var overflows atomic.Int64
	s := open(t, database.SQLite, func(o *v1.Options) {
		o.Heartbeat, o.Behind, o.Overflowed = time.Millisecond, 5, func() { overflows.Add(1) }
	})
	base := s.ask()
	goOn := s.hold(base, ":heartbeat") // at this point it is up to date
	s.task(base, "long", "FLOOD[30]")
	s.over(base, "long")
	if got, end := goOn(), "event: overflow\ndata: {\"last_seq\":1}\n\n"; !strings.HasSuffix(got, end) ||
		strings.Count(got, "id: ") != 1 {
		t.Errorf("a reader that fell behind was sent\n%s", got)
	}
	if n := overflows.Load(); n != 1 {
		t.Errorf("%d readers are counted that fell behind", n)
	}
	all := s.page(base)
	back := s.follow(base, "", "1").until("the end", isEvent(tasks.TaskCompleted, "long"))
	if got := events(back); !slices.Equal(got, all[1:]) {
		t.Errorf("it comes back and gets %d events, of %d", len(got), len(all)-1)
	}
}

// A stopping server does not wait for the end of a long replay.
func TestServerStopEndsReplay(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	base := s.ask()
	// Tasks that were stopped before they ran have three events each.
	stopped := make([]journal.Event, 250)
	for n := range stopped {
		stopped[n] = journal.Event{SessionID: idOf(base), Type: "task.ended", Source: "tasks", Payload: json.RawMessage(
			fmt.Sprintf(`{"task_id":"%d","messages":[],"outcome":{"status":"stopped","reason":"enough"}}`, n))}
	}
	if _, err := s.Journal.Append(t.Context(), stopped...); err != nil {
		t.Fatal(err)
	}
	all := len(s.page(base))
	goOn := s.hold(base, "id: 3\n")
	s.api.Close()
	if sent := strings.Count(goOn(), "id: "); sent == 0 || sent >= all {
		t.Errorf("%d of %d events were sent first", sent, all)
	}
}

// EV-29: a reader that pauses and then resumes can read that its stream ended and where to continue.
func TestPausedReaderCanReadOverflow(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite, func(o *v1.Options) { o.WriteTimeout = 20 * time.Millisecond })
	base := s.ask()
	s.task(base, "some", "say it")
	s.over(base, "some")
	goOn := s.hold(base, "id: 3\n")
	<-time.After(25 * time.Millisecond) // it reads nothing for longer than that
	if got, end := goOn(), "event: overflow\ndata: {\"last_seq\":3}\n\n"; !strings.HasSuffix(got, end) ||
		strings.Count(got, "id: ") != 3 {
		t.Errorf("a reader that paused was sent\n%s", got)
	}
	all := s.page(base)
	back := s.follow(base, "", "3").until("the end", isEvent(tasks.TaskCompleted, "some"))
	if got := events(back); !slices.Equal(got, all[3:]) {
		t.Errorf("it comes back and gets %d events, of %d", len(got), len(all)-3)
	}
}

// EV-29: the server disconnects a reader that reads nothing for a while, and frees its slot.
func TestStalledReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite, func(o *v1.Options) { o.WriteTimeout, o.MaxStreams = time.Second, 1 })
	base := s.ask()
	s.task(base, "runs", "HOLD[a]")
	if err := s.Agent.AwaitHeld(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for n := range 8 {
		id := "long " + strconv.Itoa(n)
		s.task(base, id, strings.Repeat("x", 500_000))
		s.want(http.StatusOK, http.MethodPost, base+"/tasks/"+strings.ReplaceAll(id, " ", "%20")+"/stop", nil)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // only read from
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s/events?stream=1 HTTP/1.1\r\nHost: here\r\n\r\n", base); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd()
	if again := s.follow(base, "", ""); again.response.StatusCode != http.StatusOK {
		t.Errorf("the next reader got %s", again.response.Status)
	}
}

// The number of streams is limited, and a closed one frees its slot.
func TestStreamLimit(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite, func(o *v1.Options) { o.MaxStreams = 1 })
	base := s.ask()
	first := s.follow(base, "", "")
	second := s.follow(base, "", "")
	var refusal object
	if err := json.NewDecoder(second.response.Body).Decode(&refusal); err != nil {
		t.Fatal(err)
	}
	if second.response.StatusCode != http.StatusTooManyRequests || refusal["error"] != "sse_limit" ||
		second.response.Header.Get("Retry-After") == "" {
		t.Errorf("the second stream got %s %v", second.response.Status, refusal)
	}
	s.awaitEnd() // of the second stream
	s.page(base) // a page does not count as a stream
	s.awaitEnd()
	first.cancel()
	s.awaitEnd()
	if third := s.follow(base, "", ""); third.response.StatusCode != http.StatusOK {
		t.Errorf("the third got %s", third.response.Status)
	}
}

// EV-02: pruning old records keeps the numbers. A stream reports the gap, and a page reports where it starts.
func TestPrunedEventsAreReportedAsGap(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		base := s.ask()
		s.task(base, "one", "REPLY[a b c]")
		s.over(base, "one")
		s.task(base, "two", "REPLY[d e f]")
		s.over(base, "two")
		before := s.page(base)
		if _, err := s.Journal.Prune(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		page := s.want(http.StatusOK, http.MethodGet, base+"/events", nil)
		kept := len(page["events"].([]any))
		oldest := len(before) - kept + 1
		if kept == 0 || oldest < 3 || text(page, "oldest_seq") != strconv.Itoa(oldest) {
			t.Fatalf("%d of %d events are stored, and the page begins with %v", kept, len(before), page["oldest_seq"])
		}
		for after := range oldest {
			frames := s.follow(base, "?after_seq="+strconv.Itoa(after), "").until("the end",
				isEvent(tasks.TaskCompleted, "two"))
			gaps := slices.DeleteFunc(slices.Clone(frames), func(f frame) bool { return f.event != "gap" })
			want := fmt.Sprintf(`{"from_seq":%d,"to_seq":%d}`, after+1, oldest-1)
			if after == oldest-1 && len(gaps) != 0 ||
				after < oldest-1 && (len(gaps) != 1 || frames[1].event != "gap" || written(gaps[0].data) != want) {
				t.Errorf("after %d the gap is sent as %+v, want %s", after, gaps, want)
			}
			if got := events(frames); !slices.Equal(got, before[oldest-1:]) {
				t.Errorf("after %d streamed were\n%s", after, strings.Join(got, "\n"))
			}
		}
	})
}
