//go:build cluster && linux

package cluster_test

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/programtest"
)

// seeded returns the source of the test's choices. Its seed is in the test's name, or in HARNESS_SEED if that is set.
// It determines which node is asked, not the timing.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	given := os.Getenv("HARNESS_SEED")
	if _, named, found := strings.Cut(t.Name(), seedOfTest); found {
		given = named
	}
	if given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("HARNESS_SEED: %v", err)
		}
	}
	t.Logf("HARNESS_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it decides nothing but the order of a test
}

func (p *trio) anyNode() *programtest.Server {
	return []*programtest.Server{p.a, p.b, p.c}[p.chance.IntN(3)]
}

// decide decides approvals at two nodes at once: each decision is delivered exactly once.
func (p *trio) decide() {
	p.t.Helper()
	for range 2 {
		session, done := p.session(), filepath.Join(p.t.TempDir(), "done")
		query := "threadId=" + session + "&after=0"
		p.streams[session] = []*programtest.Follower{p.b.Follow(query), p.c.Follow(query)}
		turn := p.send(session, "MOCK_CMD[echo granted >> "+done+"]")
		var id string
		p.eventually("is the approval stored", func() bool {
			const waiting = `select coalesce(max(id), '') from interactive_requests where session_id = $1 and status = 'pending'`
			err := p.db.Read().QueryRowContext(p.t.Context(), waiting, session).Scan(&id)
			if err != nil {
				p.t.Fatal(err)
			}
			return id != ""
		})
		nodes := []*programtest.Server{p.anyNode(), p.b, p.c}
		p.chance.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		accepted, asked := make([]int, len(nodes)), sync.WaitGroup{}
		for i, node := range nodes {
			asked.Go(func() {
				status, _, err := node.Try(http.MethodPost, "/api/approvals/"+id+"/decision", object{"decision": "accept"})
				if err == nil {
					accepted[i] = status
				}
			})
		}
		asked.Wait()
		p.eventually("does the approved turn end", func() bool { return p.turn(turn) != "inProgress" })
		if status := p.turn(turn); status != "completed" {
			p.violated("the approved turn is %s; the nodes answered %v", status, accepted)
		}
		ran, err := os.ReadFile(done)
		if times := strings.Count(string(ran), "granted"); err != nil || times != 1 {
			p.violated("what was approved ran %d times (%v); the nodes answered %v", times, err, accepted)
		}
	}
}

// framesPerEvent is the number of stream positions of one event.
const framesPerEvent = 16

// checkStreams compares the frames of clients of the other nodes with the journal. They must have all messages of the
// agent in order, the same texts, and nothing that the journal lacks.
func (p *trio) checkStreams() {
	p.t.Helper()
	log := journal.New(p.db, journal.Options{})
	for session, streams := range p.streams {
		stored, entries, whole := map[int64]int64{}, []int64{}, texts{} // each event's place in the session
		for after, more := int64(0), true; more; {
			records, err := log.Read(p.t.Context(), journal.Query{Session: session, After: after, Limit: 1000})
			if err != nil {
				p.t.Fatal(err)
			}
			more = len(records) > 0
			for _, r := range records {
				if after = r.Pos; r.SessionID != session {
					continue
				}
				stored[r.Pos] = r.Seq
				if r.Type == stream.EventNotification && !whole.stored(&r) {
					entries = append(entries, r.Pos)
				}
			}
		}
		if len(entries) < 2 {
			p.violated("session %s has %d events", session, len(entries))
			continue
		}
		for i, client := range streams {
			last := entries[len(entries)-1]
			// This is the last frame of an event.
			client.Find("the last event", func(f programtest.Frame) bool {
				return f.Pos/framesPerEvent == last && f.Type == "notification"
			})
			var shown []int64
			cursor, grown := int64(0), texts{}
			for _, f := range client.All() {
				isDelta := f.ThreadID != nil && *f.ThreadID == session && grown.shown(f)
				if f.Pos == 0 || f.ThreadID == nil || *f.ThreadID != session {
					continue
				}
				if f.Pos <= cursor {
					p.violated("stream %d: frame %d comes after %d", i, f.Pos, cursor)
				}
				cursor = f.Pos
				if seq, found := stored[f.Pos/framesPerEvent]; !found || f.Seq != seq {
					p.violated("stream %d shows what the journal does not have: %s", i, f.Raw)
				}
				if f.Type == "notification" && !isDelta {
					shown = append(shown, f.Pos/framesPerEvent)
				}
			}
			if shown = slices.Compact(shown); !slices.Equal(shown, entries) {
				p.violated("stream %d of %s shows events %v, the journal has %v", i, session, shown, entries)
			}
			if !maps.Equal(grown, whole) {
				p.violated("stream %d of %s shows the texts %q, the journal has %q", i, session, grown, whole)
			}
		}
	}
}
