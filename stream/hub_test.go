package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// shown returns the string payloads of received event frames; for a control frame it returns the type.
func shown(t *testing.T, texts []string) []string {
	t.Helper()
	out := []string{}
	for _, text := range texts {
		if !strings.HasPrefix(text, "{") {
			continue
		}
		var frame struct {
			Type    string
			Payload *string
		}
		if err := json.Unmarshal([]byte(text), &frame); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if frame.Payload == nil {
			out = append(out, frame.Type)
			continue
		}
		out = append(out, *frame.Payload)
	}
	return out
}

// ST-03, ST-11..ST-17: which clients get which frames.
func TestFilterRules(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	conns := map[string]*fakeConn{}
	for _, filter := range []string{"", "A", "B", "S"} {
		_, conns[filter] = join(t, h, filter)
	}
	appendAll(t, j,
		plainEvent("A", "of A"), plainEvent("B", "of B"), plainEvent("", "global"),
		broadcastEvent("", "global broadcast"), broadcastEvent("A", "broadcast of A"),
		systemOwned(plainEvent("S", "of S")), systemOwned(broadcastEvent("S", "broadcast of S")), broadcastEvent("", "end"),
	)
	for filter, want := range map[string][]string{
		"":  {"of A", "of B", "global", "global broadcast", "broadcast of A", "end"},
		"A": {"of A", "global broadcast", "broadcast of A", "end"},
		"B": {"of B", "global broadcast", "broadcast of A", "end"},
		"S": {"global broadcast", "broadcast of A", "of S", "broadcast of S", "end"},
	} {
		conn := conns[filter]
		conn.wait(t, "the last event", func() bool { return len(conn.received) == len(want)+1 })
		if got := shown(t, conn.texts()); !reflect.DeepEqual(got, want) {
			t.Errorf("filter %q: got %q, want %q", filter, got, want)
		}
	}
}

// ST-11, ST-12: the replay of a journal obeys the same rules as live delivery, frame by frame.
func TestReplayObeysFilterRules(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{CatchUpPage: 2})
	_, live := join(t, h, "A", 0)
	live.wait(t, "the resume status", func() bool { return len(live.received) == 2 })
	appendAll(t, j, tokenEvent("A", "1"), tokenEvent("B", "2"), accountEvent("3"), plainEvent("", "4"),
		systemOwned(broadcastEvent("S", "5")), plainEvent("A", "6"))
	live.wait(t, "five frames", func() bool { return len(live.received) == 2+5 })
	_, replayed := join(t, h, "A", 0)
	replayed.wait(t, "five frames", func() bool { return len(replayed.received) == 2+5 })
	if a, b := live.texts()[2:], replayed.texts()[2:]; !reflect.DeepEqual(a, b) {
		t.Errorf("live   %q\nreplay %q", a, b)
	}
}

// ST-04, ST-05: subscribe replaces the filter, unsubscribe clears it, each between two events.
func TestFilterChange(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	c, conn := join(t, h, "A")
	both := func(n string) { appendAll(t, j, plainEvent("A", "A"+n), plainEvent("B", "B"+n)) }
	both("1")
	c.setFilter("B")
	both("2")
	c.setFilter("")
	both("3")
	want := []string{"A1", "B2", "A3", "B3"}
	conn.wait(t, "four events", func() bool { return len(conn.received) == 5 })
	if got := shown(t, conn.texts()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.views) != 1 || h.views[""] != c.view {
		t.Errorf("there are %d views", len(h.views))
	}
}

// Each variant of a frame is encoded once, however many clients receive it.
func TestEncodedOnce(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	var plain, positioned []*fakeConn
	for range 5 {
		_, p := join(t, h, "A")
		_, q := join(t, h, "", 0)
		q.wait(t, "the resume status", func() bool { return len(q.received) == 2 })
		plain, positioned = append(plain, p), append(positioned, q)
	}
	appendAll(t, j, plainEvent("A", "x"))
	last := func(conns []*fakeConn, n int) (out []*Message) {
		for _, conn := range conns {
			conn.wait(t, "the event", func() bool { return len(conn.received) == n })
			out = append(out, conn.messages[n-1])
		}
		return out
	}
	for _, messages := range [][]*Message{last(plain, 2), last(positioned, 3)} {
		for _, message := range messages {
			if message != messages[0] {
				t.Error("a receiver got bytes of its own")
			}
		}
	}
	if got, want := string(
		plain[0].messages[1].Text()), `{"type":"transcript_updated","threadId":"A","payload":"x"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(
		positioned[0].messages[2].Text()), `{"type":"transcript_updated","threadId":"A","payload":"x","pos":16,"seq":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A reader that stops blocks no other client, its queue stays bounded, and it misses nothing when it resumes reading.
func TestStoppedReaderCatchesUp(t *testing.T) {
	t.Parallel()
	var catchUps atomic.Int64
	j := newMemoryJournal()
	h := startHub(t, j, Options{RingFrames: 8, CatchUpPage: 5, Metrics: Metrics{CatchUp: func(reason string) {
		if reason == "overflow" {
			catchUps.Add(1)
		}
	}}})
	c, slow := join(t, h, "A")
	_, healthy := join(t, h, "")
	slow.wait(t, "ready", func() bool { return len(slow.received) == 1 })
	slow.set(func() { slow.blocked = true })
	const events = 500
	var want []string
	for i := range events {
		want = append(want, fmt.Sprint(i))
		appendAll(t, j, plainEvent("A", want[i]))
		healthy.wait(t, "the event", func() bool { return len(healthy.received) == i+2 })
		h.mu.Lock()
		c.mu.Lock()
		if kept := max(len(h.log), len(c.view.frames), len(c.queue)); kept > 8 {
			t.Errorf("%d frames kept", kept)
		}
		c.mu.Unlock()
		h.mu.Unlock()
	}
	slow.set(func() { slow.blocked = false })
	slow.wait(t, "every event", func() bool { return len(slow.received) == events+1 })
	if got := shown(t, slow.texts()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if catchUps.Load() == 0 {
		t.Error("the queue never overflowed: the test shows nothing")
	}
	// Live again: nothing more is read from the journal.
	appendAll(t, j, plainEvent("A", "more"))
	slow.wait(t, "one more", func() bool { return len(slow.received) == events+2 })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mode != live {
		t.Errorf("mode is %d, not live", c.mode)
	}
}

// The queue is bounded in bytes, too; a single frame larger than the bound still passes.
func TestQueueBytesBound(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{RingBytes: 1000})
	_, conn := join(t, h, "")
	conn.wait(t, "ready", func() bool { return len(conn.received) == 1 })
	conn.set(func() { conn.blocked = true })
	for range 20 {
		appendAll(t, j, plainEvent("", strings.Repeat("x", 300)))
		h.mu.Lock()
		if h.logBytes > 1000 {
			t.Errorf("%d bytes kept", h.logBytes)
		}
		h.mu.Unlock()
	}
	appendAll(t, j, plainEvent("", strings.Repeat("y", 5000)))
	conn.set(func() { conn.blocked = false })
	conn.wait(t, "every event", func() bool { return len(conn.received) == 22 })
}

// A reader that never accepts anything is closed with 4008.
func TestStalledReaderIsClosed(t *testing.T) {
	t.Parallel()
	var reason atomic.Value
	h := startHub(t, newMemoryJournal(), Options{Metrics: Metrics{SlowConsumer: func(why string) { reason.Store(why) }}})
	conn := &stallingConn{fakeConn: newFakeConn()}
	c, err := h.attach(conn, "", textMessage("ready"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-c.done
	h.detach(c)
	if conn.code != closeSlow || reason.Load() != "stalled" {
		t.Errorf("closed with %d, counted as %v", conn.code, reason.Load())
	}
}

type stallingConn struct{ *fakeConn }

func (s *stallingConn) Write([]*Message) (int, bool, error) { return 0, true, nil }
func (s *stallingConn) Wait() error                         { return ErrStalled }

// Filter changes while behind: frames due under the old filter arrive first, then those that the new filter selects.
func TestFilterChangeWhileBehind(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{RingFrames: 2, CatchUpPage: 3})
	c, conn := join(t, h, "A")
	conn.wait(t, "ready", func() bool { return len(conn.received) == 1 })
	conn.set(func() { conn.blocked = true })
	var want []string
	for i, filter := range []string{"A", "B", "", "B", "A"} {
		c.setFilter(filter)
		for n := range 7 {
			for _, thread := range []string{"A", "B"} {
				name := fmt.Sprintf("%s%d.%d", thread, i, n)
				appendAll(t, j, plainEvent(thread, name))
				if filter == "" || filter == thread {
					want = append(want, name)
				}
			}
		}
	}
	conn.set(func() { conn.blocked = false })
	conn.wait(t, "every event", func() bool { return len(conn.received) == len(want)+1 })
	if got := shown(t, conn.texts()); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The filter changes of a client that does not read are kept only up to a bound.
func TestFilterChurnIsBounded(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{RingFrames: 2})
	c, conn := join(t, h, "A")
	conn.wait(t, "ready", func() bool { return len(conn.received) == 1 })
	conn.set(func() { conn.blocked = true })
	for i := range 3 * maxPastFilters {
		appendAll(t, j, plainEvent("A", "x"), plainEvent("B", "x"))
		c.setFilter([]string{"B", "A"}[i%2])
		c.mu.Lock()
		if len(c.past) > maxPastFilters {
			t.Errorf("%d filters remembered", len(c.past))
		}
		c.mu.Unlock()
	}
	conn.set(func() { conn.blocked = false })
	conn.wait(t, "the end", func() bool { return conn.code == closePolicy })
}

// If the journal cannot be read, only the clients that need it end, with 1011.
func TestJournalFailure(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	appendAll(t, j, plainEvent("A", "x"))
	_, healthy := join(t, h, "")
	conn := newFakeConn()
	j.failWith(errors.New("disk gone"))
	if _, err := h.compare(t.Context(), cursor{}); err == nil {
		t.Error("a cursor was status without a journal")
	}
	c, err := h.attach(conn, "", textMessage("ready"), &resumeStatus{noticeMessage(notice("resumed", 0, 31, 0)), 0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-c.done
	h.detach(c)
	if conn.code != closeInternal {
		t.Errorf("closed with %d", conn.code)
	}
	appendAll(t, j, plainEvent("A", "y"))
	healthy.wait(t, "y", func() bool { return len(healthy.received) == 2 })
}

// An event that cannot be shown is skipped for all clients; the stream continues.
func TestUnreadableEvent(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := NewHub(j, Options{})
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer stopHub(t, h)
	_, conn := join(t, h, "", 0)
	broken := plainEvent("A", "")
	broken.Type, broken.Payload = EventNotification, json.RawMessage(`[]`)
	appendAll(t, j, plainEvent("A", "1"), broken, plainEvent("A", "2"))
	conn.wait(t, "both events", func() bool { return len(conn.received) == 4 })
}

// Stop and Start may be called twice; Stop closes every client with 1012 and waits for them.
func TestStartStop(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := NewHub(j, Options{})
	conn := newFakeConn()
	if _, err := h.attach(conn, "", textMessage("ready"), nil, nil); !errors.Is(err, ErrStopped) {
		t.Errorf("attached to a hub that does not run: %v", err)
	}
	stopHub(t, h)
	for range 2 {
		for range 2 {
			if err := h.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		_, conn := join(t, h, "")
		appendAll(t, j, plainEvent("A", "x"))
		conn.wait(t, "the event", func() bool { return len(conn.received) == 2 })
		stopHub(t, h)
		stopHub(t, h)
		if conn.code != closeRestart {
			t.Errorf("closed with %d", conn.code)
		}
		if _, err := h.attach(newFakeConn(), "", textMessage("ready"), nil, nil); !errors.Is(err, ErrStopped) {
			t.Errorf("attached to a stopped hub: %v", err)
		}
	}
}

// A connection that does not accept its close frame is aborted when the time is over.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(newMemoryJournal(), Options{})
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, conn := join(t, h, "")
		conn.wait(t, "ready", func() bool { return len(conn.received) == 1 })
		conn.set(func() { conn.blocked = true })
		appendAll(t, h.journal.(*memoryJournal), plainEvent("A", "x"))
		conn.wait(t, "the write", func() bool { return conn.taking })
		start := time.Now()
		stopHub(t, h)
		if took := time.Since(start); took != 5*time.Second || !conn.aborted {
			t.Errorf("stopped after %v, aborted: %v", took, conn.aborted)
		}
	})
}

// The server pings every 15 s, so that a proxy that closes silent connections after 20 s keeps this one. A peer that
// does not answer is dropped 15 s after a ping; one that answers stays.
func TestPings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(newMemoryJournal(), Options{})
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, conn := join(t, h, "")
		start := time.Now()
		<-time.After(100 * time.Second) // of the fake clock
		conn.set(func() {
			if conn.pings != 6 || conn.aborted {
				t.Errorf("%d pings in 100 s, aborted: %v", conn.pings, conn.aborted)
			}
			conn.dead = true
		})
		<-c.done
		if took := time.Since(start); took != 105*time.Second || !conn.aborted {
			t.Errorf("dropped after %v", took)
		}
		stopHub(t, h)
	})
}

// A client that sends commands without reading the answers waits; the hub does not.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	c, conn := join(t, h, "")
	conn.wait(t, "ready", func() bool { return len(conn.received) == 1 })
	conn.set(func() { conn.blocked = true })
	asked := make(chan int)
	go func() {
		n := 0
		for ; n < 10*maxControls && c.ctx.Err() == nil; n++ {
			c.answer(textMessage("pong"))
		}
		asked <- n
	}()
	conn.wait(t, "a write", func() bool { return conn.taking })
	appendAll(t, j, plainEvent("", "x"))
	select {
	case n := <-asked:
		t.Errorf("%d answers were taken for a reader that does not read", n)
	default:
	}
	conn.set(func() { conn.blocked = false })
	if n := <-asked; n != 10*maxControls {
		t.Errorf("%d answers", n)
	}
	conn.wait(t, "all answers and the event", func() bool { return len(conn.received) == 10*maxControls+2 })
}
