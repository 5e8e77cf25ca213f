package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"harness/internal/platform/journal"
)

// A client of the hub may change its filter, resume on the open socket, read slowly, or lose the connection in the
// middle of an event. Its frames always equal the reference: none missing, none twice, none out of order.
func TestResumeProperty(t *testing.T) {
	t.Parallel()
	const seeds = 10_000 / shortened
	var seen interleavings
	t.Cleanup(func() {
		least := min(seen.overflows.Load(), seen.skipped.Load(), seen.resumes.Load(), seen.broken.Load())
		if ran := seen.ran.Load(); least < ran/2 {
			t.Errorf("%d interleavings show too little: %d overflows, %d skipped frames, %d resumes, %d lost connections",
				ran, seen.overflows.Load(), seen.skipped.Load(), seen.resumes.Load(), seen.broken.Load())
		}
	})
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			// In a synctest bubble a lost wakeup shows at once: all goroutines sleep, and a due frame has not arrived.
			synctest.Test(t, func(t *testing.T) { runInterleaving(t, seed, &seen) })
		})
	}
}

// interleavings counts the situations that the seeds caused, so that the test cannot pass without exercising them.
type interleavings struct{ ran, overflows, skipped, resumes, broken atomic.Int64 }

// walker is a client of the property test: a chain of sessions over connections that break.
type walker struct {
	t       *testing.T
	journal *memoryJournal
	hub     *Hub
	random  *rand.Rand
	all     *reference
	seen    *interleavings
	client  *client
	conn    *fakeConn
	session *session
	marker  string // the resume status before the current session's event frames
	count   int
	last    int64
}

func runInterleaving(t *testing.T, seed uint64, seen *interleavings) {
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // reproducible on purpose
	j := newMemoryJournal()
	h := startHub(t, j, Options{
		RingFrames: 1 + random.IntN(6), CatchUpPage: 1 + random.IntN(4), CatchUpReads: 1, Shards: 1 + random.IntN(2),
		Metrics: Metrics{
			CatchUp: func(reason string) {
				if reason == "overflow" {
					seen.overflows.Add(1)
				}
			},
			Skipped: func(frames int) { seen.skipped.Add(int64(frames)) },
		},
	})
	all := &reference{}
	w := &walker{t: t, journal: j, random: random, hub: h, all: all, seen: seen}
	w.connect()
	plain := &lossyClient{t: t, journal: j, random: random, hub: h, all: all}
	plain.connect()
	for step := range 40 {
		switch random.IntN(16) {
		case 0:
			filter := randomFilter(random)
			w.client.setFilter(filter)
			w.session.change(headOf(h), filter)
		case 1:
			w.resume()
		case 2:
			w.conn.set(func() { w.conn.room = random.IntN(4) })
		case 3:
			w.conn.set(func() { w.conn.blocked = true })
		case 4:
			w.conn.set(func() { w.conn.blocked = false })
		case 5:
			w.conn.set(func() { w.conn.blocked = false })
			if w.alive() {
				w.settle()
			}
		case 6, 7, 8:
			plain.step()
		case 9:
			j.lag(true)
		case 10:
			j.lag(false)
		default:
			for n := range 1 + random.IntN(8) {
				appendAll(t, j, randomEvent(random, eventName(seed, step*10+n)))
			}
		}
		// Half of the steps start with all goroutines idle, half in the middle of an operation.
		if random.IntN(2) == 0 {
			synctest.Wait()
		}
		if !w.alive() {
			seen.broken.Add(1)
			w.checkPrefix()
			w.connect()
		}
	}
	w.conn.set(func() { w.conn.blocked = false; w.conn.room = -1 })
	if !w.alive() {
		w.checkPrefix()
		w.connect()
	}
	w.settle()
	plain.settle()
	seen.ran.Add(1)
}

// headOf returns the position of the last event that a hub has published; the journal may be ahead of it.
func headOf(h *Hub) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head
}

// alive reports whether the connection is usable. It waits for the end of a broken one, so that everything delivered on
// it is known.
func (w *walker) alive() bool {
	w.conn.mu.Lock()
	broken := w.conn.room == 0 && !w.conn.blocked
	w.conn.mu.Unlock()
	if !broken {
		select {
		case <-w.client.done:
			return false
		default:
			return true
		}
	}
	w.client.end(0, "")
	<-w.client.done
	return false
}

// resumeStatus compares the cursor as a handler would, and records the session that it starts.
func (w *walker) resumeStatus() resumeStatus {
	at, err := w.hub.compare(w.t.Context(), cursor{after: w.last})
	if err != nil {
		w.t.Fatal(err)
	}
	w.count++
	w.marker = fmt.Sprintf("resumed %d", w.count)
	at.message = textMessage(w.marker)
	return at
}

func (w *walker) connect() {
	filter, at := randomFilter(w.random), w.resumeStatus()
	w.conn = newFakeConn()
	c, err := w.hub.attach(w.conn, filter, textMessage("ready"), &at, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		<-c.done
		w.hub.detach(c)
	}()
	w.client, w.session = c, newSession(w.last, filter)
}

// resume starts over on the open connection, after the last arrived frame. Frames of a batch being written may still
// come before the resume status.
func (w *walker) resume() {
	w.seen.resumes.Add(1)
	w.checkPrefix()
	if w.random.IntN(4) == 0 { // from the head, which may be ahead of the last event that the hub has published
		w.last = endOf(int64(len(w.records())))
	}
	filter := randomFilter(w.random)
	w.client.resume(filter, w.resumeStatus())
	w.session = newSession(w.last, filter)
}

// framesLocked returns the event frames of the current session so far; conn.mu is held.
func (w *walker) framesLocked() []string {
	if i := slices.Index(w.conn.received, w.marker); i >= 0 {
		return slices.Clone(w.conn.received[i+1:])
	}
	return nil
}

func (w *walker) frames() []string {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	return w.framesLocked()
}

// expected returns the frames of the current session that are due by now.
func (w *walker) expected() []string {
	w.all.add(w.t, w.records())
	return positioned(w.all.owed(w.session))
}

// checkPrefix compares the arrived frames with the reference, and records the cursor.
func (w *walker) checkPrefix() {
	w.t.Helper()
	got, want := w.frames(), w.expected()
	if len(got) > len(want) {
		requireEqual(w.t, "too many", got, want)
	}
	requireEqual(w.t, "so far", got, want[:len(got)])
	if len(got) > 0 {
		w.last = positionOf(w.t, got[len(got)-1])
	}
}

// settle waits until all goroutines are idle. Then every due frame has arrived, or the connection has broken.
func (w *walker) settle() {
	w.t.Helper()
	w.journal.lag(false)
	synctest.Wait()
	w.checkPrefix()
	w.conn.mu.Lock()
	broken := w.conn.room == 0
	w.conn.mu.Unlock()
	if !broken {
		requireEqual(w.t, "settled", w.frames(), w.expected())
	}
}

func (w *walker) records() []journal.Record {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	return append([]journal.Record(nil), w.journal.records...)
}
