package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"harness/journal"
)

// Fault row 5 at the seam of the hub: whatever a client does - change its filter, resume on the open socket, read slowly, lose the
// connection in the middle of an event - its frames are the reference's: none missing, none twice, none out of order.
func TestResumeProperty(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			runInterleaving(t, seed)
		})
	}
}

// walker is a client of the property test: a chain of sessions over breaking connections.
type walker struct {
	t       *testing.T
	journal *memoryJournal
	hub     *Hub
	random  *rand.Rand
	client  *client
	conn    *fakeConn
	session *session
	marker  string // the verdict before the current session's event frames
	count   int
	last    int64
}

func runInterleaving(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // reproducible on purpose
	j := newMemoryJournal()
	w := &walker{t: t, journal: j, random: random, hub: startHub(t, j, Options{
		RingFrames: 1 + random.IntN(6), CatchUpPage: 1 + random.IntN(4), CatchUpReads: 1,
	})}
	w.connect()
	for step := range 60 {
		switch random.IntN(10) {
		case 0:
			filter := randomFilter(random)
			w.client.setFilter(filter)
			w.session.change(w.head(), filter)
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
		default:
			for n := range 1 + random.IntN(8) {
				appendAll(t, j, randomEvent(random, eventName(seed, step*10+n)))
			}
		}
		if !w.alive() {
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
}

func (w *walker) head() int64 {
	_, head, _ := w.journal.Bounds(w.t.Context())
	return head
}

// alive tells whether the connection is usable; a broken one is waited for, so that all it delivered is known.
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

// verdict judges the cursor as a handler would, and marks the session it begins.
func (w *walker) verdict() verdict {
	at, err := w.hub.judge(w.t.Context(), cursor{after: w.last})
	if err != nil {
		w.t.Fatal(err)
	}
	w.count++
	w.marker = fmt.Sprintf("resumed %d", w.count)
	at.message = textMessage(w.marker)
	return at
}

func (w *walker) connect() {
	filter, at := randomFilter(w.random), w.verdict()
	w.conn = newFakeConn()
	c, err := w.hub.attach(w.conn, filter, textMessage("ready"), &at)
	if err != nil {
		w.t.Fatal(err)
	}
	go func() {
		<-c.done
		w.hub.detach(c)
	}()
	w.client, w.session = c, newSession(w.last, filter)
}

// resume starts over on the open connection, from what has arrived so far. Frames of a batch being written may still come before the verdict.
func (w *walker) resume() {
	w.checkPrefix()
	filter := randomFilter(w.random)
	w.client.resume(filter, w.verdict())
	w.session = newSession(w.last, filter)
}

// frames are the event frames of the current session so far; conn.mu is held.
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

// checkPrefix holds what arrived against the reference and remembers the cursor.
func (w *walker) checkPrefix() {
	w.t.Helper()
	got := w.frames()
	want := w.session.expected(w.t, w.records())
	if len(got) > len(want) {
		requireEqual(w.t, "too many", got, want)
	}
	requireEqual(w.t, "so far", got, want[:len(got)])
	if len(got) > 0 {
		w.last = positionOf(w.t, got[len(got)-1])
	}
}

// settle waits until everything owed has arrived, or the connection broke.
func (w *walker) settle() {
	w.t.Helper()
	want := w.session.expected(w.t, w.records())
	w.conn.wait(w.t, "all that is owed", func() bool { return len(w.framesLocked()) >= len(want) || w.conn.room == 0 })
	w.checkPrefix()
	w.conn.mu.Lock()
	broken := w.conn.room == 0
	w.conn.mu.Unlock()
	if got := w.frames(); !broken {
		requireEqual(w.t, "settled", got, want)
	}
}

func (w *walker) records() []journal.Record {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	return append([]journal.Record(nil), w.journal.records...)
}
