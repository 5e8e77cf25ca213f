package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/journal"
)

// narrow accepts connections with small system buffers, so that a stopped reader is detected soon.
type narrow struct{ net.Listener }

const narrowBuffer = 4 << 10

func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(narrowBuffer)
	}
	return conn, err
}

// newNarrow returns a server that is not started yet.
func newNarrow(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Listener = narrow{server.Listener}
	t.Cleanup(server.Close)
	return server
}

// dialNarrow returns the client side of such a connection.
func dialNarrow(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	// Before connecting, since a window cannot shrink once offered.
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, narrowBuffer)
		}), err)
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// widen lets a returning reader read as fast as others.
func widen(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.(*net.TCPConn).SetReadBuffer(1 << 20); err != nil {
		t.Error(err)
	}
}

// requireLive waits until every client gets its frames from the ring.
func requireLive(t *testing.T, h *Hub) {
	t.Helper()
	eventually(t, "all clients are live", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for c := range h.clients {
			c.mu.Lock()
			is := c.mode == live
			c.mu.Unlock()
			if !is {
				return false
			}
		}
		return true
	})
}

// reasonCounts counts everything a hub reports by reason.
type reasonCounts struct{ catchUps, gaps, slow, closed, skipped tally }

func (c *reasonCounts) metrics() Metrics {
	return Metrics{
		CatchUp: c.catchUps.add, Gap: c.gaps.add, SlowConsumer: c.slow.add, Closed: c.closed.add,
		Skipped: func(frames int) {
			for range frames {
				c.skipped.add("")
			}
		},
	}
}

// mixed returns numbered events of half a KiB. Three of five frames are replaceable.
func mixed(first, n int) (events []journal.Event) {
	pad := strings.Repeat("z", 512)
	for i := first; i < first+n; i++ {
		if text := fmt.Sprintf("%06d %s", i, pad); i%3 == 0 {
			events = append(events, tokenEvent("A", text))
		} else {
			events = append(events, plainEvent("A", text))
		}
	}
	return events
}

// shownOf returns the frames of all events in the journal.
func shownOf(t *testing.T, j *memoryJournal) []owedFrame {
	t.Helper()
	j.mu.Lock()
	records := append([]journal.Record(nil), j.records...)
	j.mu.Unlock()
	var all reference
	all.add(t, records)
	return slices.Concat(all.events...)
}

// account compares the frames that a client without positions got with the existing ones: whole frames, in order.
// Frames may be missing only if a gap frame before them reports it. It returns the number of gaps, of missing frames,
// and of frames still due at the end.
func account(t *testing.T, got []string, owed []owedFrame) (gaps, missing, left int) {
	t.Helper()
	var from, to int64
	for i, frame := range owed {
		for len(got) > 0 && strings.HasPrefix(got[0], `{"type":"gap"`) {
			var gap struct {
				From, To int64
				Skipped  string
			}
			if err := json.Unmarshal([]byte(got[0]), &gap); err != nil || gap.Skipped != "replaceable" {
				t.Fatalf("%v in %s", err, got[0])
			}
			from, to, got = gap.From, gap.To, got[1:]
			gaps++
		}
		switch {
		case len(got) == 0:
			return gaps, missing, len(owed) - i
		case got[0] == frame.plain:
			got = got[1:]
		case frame.Replaceable && from < frame.Pos && frame.Pos <= to:
			missing++
		default:
			t.Fatalf("at position %d got %.80s, want %.80s; gap from %d to %d", frame.Pos, got[0], frame.plain, from, to)
		}
	}
	if len(got) > 0 {
		t.Fatalf("%d frames too many: %.80q", len(got), got)
	}
	return gaps, missing, 0
}

// readTexts reads text frames up to and including one that contains the words.
func readTexts(t *testing.T, reader *bufio.Reader, until string) (texts []string) {
	t.Helper()
	for {
		first, payload, err := readFrame(reader)
		if err != nil || first != 0x81 {
			t.Fatalf("frame header %x, %v after %d texts", first, err, len(texts))
		}
		if texts = append(texts, string(payload)); strings.Contains(texts[len(texts)-1], until) {
			return texts
		}
	}
}

// Of 200 sockets, one stops reading for a while and one permanently. The others get everything, in order. The one that
// resumes gets a gap notice, the other is closed with 4008, each after whole frames in order. Every step is counted by
// its reason.
func TestStalledAmongMany(t *testing.T) {
	t.Parallel()
	const (
		healthy = 198 / min(shortened, 4)
		rounds  = 8
		round   = 30 // events: fewer than the ring has room for
	)
	var counted reasonCounts
	found := make(chan struct{}, 1)
	metrics := counted.metrics()
	metrics.SlowConsumer = func(reason string) {
		counted.slow.add(reason)
		found <- struct{}{}
	}
	j := newMemoryJournal()
	h := startHub(t, j, Options{RingFrames: 128, Metrics: metrics})
	wide := serveHandler(t, NewHandler(h, HandlerOptions{Stall: time.Hour}))
	patient, strict := newNarrow(t, NewHandler(h, HandlerOptions{Stall: time.Hour})), newNarrow(t,
		NewHandler(h, HandlerOptions{Stall: 300 * time.Millisecond}))
	patient.Start()
	strict.Start()

	slow, dead := dialNarrow(t, patient), dialNarrow(t, strict)
	fromSlow, _ := upgrade(t, slow, patient.URL, nil)
	fromDead, _ := upgrade(t, dead, strict.URL, nil)
	ready := "8120" + fmt.Sprintf("%x", readyNull)
	requireBytes(t, fromSlow, ready)
	requireBytes(t, fromDead, ready)
	for _, conn := range []net.Conn{slow, dead} {
		_ = conn.SetDeadline(time.Now().Add(10 * patience))
	}
	// The stopped peer is detected while the others are served; then it has seconds to read the reason.
	type end struct {
		texts []string
		code  int
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		var mine end
		select {
		case <-found:
			widen(t, dead)
			mine.texts, mine.code, mine.err = toTheEnd(fromDead)
		case <-time.After(10 * patience):
			mine.err = errors.New("the stalled reader was never found out")
		}
		ended <- mine
	}()

	type one struct {
		got []string
		err error
	}
	arrived, finished := make(chan struct{}, healthy), make(chan one, healthy)
	last := fmt.Sprintf("%06d", rounds*round-1)
	for range healthy {
		p := dial(t, wide, "")
		p.want(readyNull)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
			defer cancel()
			var mine one
			for next := round; mine.err == nil; {
				var data []byte
				if _, data, mine.err = p.ws.Read(ctx); mine.err != nil {
					break
				}
				mine.got = append(mine.got, string(data))
				if strings.Contains(mine.got[len(mine.got)-1], fmt.Sprintf(`"%06d `, next-1)) {
					arrived <- struct{}{}
					if next += round; next > rounds*round {
						break
					}
				}
			}
			finished <- mine
		}()
	}
	// Only these two are behind the others, so their reads determine the pace.
	for i := range rounds {
		appendAll(t, j, mixed(i*round, round)...)
		for range healthy {
			select {
			case <-arrived:
			case <-time.After(3 * patience):
				t.Fatalf("a client waits in vain in round %d", i)
			}
		}
	}
	owed := shownOf(t, j)
	for range healthy {
		mine := <-finished
		if mine.err != nil {
			t.Fatal(mine.err)
		}
		if gaps, missing, left := account(t, mine.got, owed); gaps+missing+left != 0 {
			t.Fatalf("a healthy reader: %d gaps, %d frames missing, %d not there", gaps, missing, left)
		}
	}

	// The message in progress for the stopped peer was finished before the close reason was sent.
	dying := <-ended
	if _, _, left := account(t, dying.texts, owed); dying.err != nil || dying.code != closeSlow || left == 0 {
		t.Errorf("the stalled reader: closed with %d, %v, %d frames were not sent", dying.code, dying.err, left)
	}

	// The slow client reads again.
	widen(t, slow)
	got := readTexts(t, fromSlow, last)
	gaps, missing, left := account(t, got, owed)
	if gaps == 0 || missing == 0 || left != 0 {
		t.Errorf("the slow reader: %d gaps, %d frames missing, %d not there", gaps, missing, left)
	}
	// Caught up, it gets everything again.
	requireLive(t, h)
	appendAll(t, j, mixed(0, 1)...)
	now := shownOf(t, j)[len(owed):]
	for _, frame := range now {
		if _, payload, err := readFrame(fromSlow); err != nil || string(payload) != frame.plain {
			t.Errorf("caught up: %.80s, %v", payload, err)
		}
	}
	for what, check := range map[string][2]int{
		"catch-ups": {counted.catchUps.of("overflow"), 1}, "gaps": {counted.gaps.of("skipped"), gaps},
		"skipped frames": {counted.skipped.of(""), missing}, "slow consumers": {counted.slow.of("stalled"), 1},
		"pruned": {counted.slow.of("pruned"), 0}, "closed": {counted.closed.all(), 0},
	} {
		if check[0] != check[1] {
			t.Errorf("%s: %d counted, %d happened", what, check[0], check[1])
		}
	}
}
