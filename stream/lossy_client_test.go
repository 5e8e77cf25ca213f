package stream

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"harness/internal/platform/journal"
)

// lossyClient is a client without positions. It may miss frames that a later one replaces, but only those
// covered by a gap frame sent before them.
type lossyClient struct {
	t       *testing.T
	journal *memoryJournal
	hub     *Hub
	random  *rand.Rand
	all     *reference
	client  *client
	conn    *fakeConn
	session *session
}

func (b *lossyClient) connect() {
	filter := randomFilter(b.random)
	b.client, b.conn = join(b.t, b.hub, filter)
	b.session = newSession(endOf(headOf(b.hub)), filter)
}

func (b *lossyClient) step() {
	switch b.random.IntN(8) {
	case 0:
		filter := randomFilter(b.random)
		b.client.setFilter(filter)
		b.session.change(headOf(b.hub), filter)
	case 1, 2, 3:
		b.conn.set(func() { b.conn.blocked = true })
	case 4, 5:
		b.conn.set(func() { b.conn.blocked = false })
	case 6:
		b.settle()
	default:
		b.client.end(0, "")
		b.conn.set(func() { b.conn.blocked = false })
		<-b.client.done
		b.check(false)
		b.connect()
	}
}

func (b *lossyClient) settle() {
	b.t.Helper()
	b.journal.lag(false)
	b.conn.set(func() { b.conn.blocked = false })
	synctest.Wait()
	b.check(true)
}

// check compares the arrived frames with the reference. complete: no more frames will arrive.
func (b *lossyClient) check(complete bool) {
	b.t.Helper()
	b.journal.mu.Lock()
	records := append([]journal.Record(nil), b.journal.records...)
	b.journal.mu.Unlock()
	b.all.add(b.t, records)
	got := b.conn.texts()
	if len(got) == 0 && !complete {
		return
	}
	got = got[1:] // ready
	type reasonCounts struct{ From, To int64 }
	var gaps []reasonCounts
	for _, frame := range b.all.owed(b.session) {
		for len(got) > 0 && strings.HasPrefix(got[0], `{"type":"gap"`) {
			var gap reasonCounts
			if err := json.Unmarshal([]byte(got[0]), &gap); err != nil {
				b.t.Fatal(err)
			}
			got, gaps = got[1:], append(gaps, gap)
		}
		switch {
		case len(got) > 0 && got[0] == frame.plain:
			got = got[1:]
		case frame.Replaceable &&
			slices.ContainsFunc(gaps, func(gap reasonCounts) bool { return gap.From < frame.Pos && frame.Pos <= gap.To }):
		case len(got) == 0 && !complete:
			return
		default:
			b.t.Fatalf("missing %s at position %d, after the gaps %+v; left %d: %.3q", frame.plain, frame.Pos, gaps,
				len(got), got)
		}
	}
	if len(got) > 0 {
		b.t.Fatalf("%d frames too many: %.3q", len(got), got)
	}
}
