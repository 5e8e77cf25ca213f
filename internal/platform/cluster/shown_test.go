//go:build cluster && linux

package cluster_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"harness/internal/platform/journal"
	"harness/tests/programtest"
)

// shownEvent is an event on a page of events.
type shownEvent struct {
	Pos, Seq int64
	Type     string
	Payload  json.RawMessage
}

// readEvents reads the newest events at a node repeatedly, until the returned function is called; that function returns
// all events read.
func (p *trio) readEvents(node *programtest.Server) (end func() []shownEvent) {
	var (
		readers sync.WaitGroup
		mu      sync.Mutex
		shown   []shownEvent
	)
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				status, raw, err := node.Try(http.MethodGet, "/api/events?limit=20", nil)
				var page struct{ Data []shownEvent }
				if err == nil && status == http.StatusOK && json.Unmarshal(raw, &page) == nil {
					mu.Lock()
					shown = append(shown, page.Data...)
					mu.Unlock()
				}
			}
		})
	}
	return func() []shownEvent {
		close(stop)
		readers.Wait()
		return shown
	}
}

// checkShown looks up the events read in the journal. Pages name a runtime's message by its method.
func (p *trio) checkShown(shown []shownEvent) {
	p.t.Helper()
	stored := map[int64]journal.Record{}
	p.readJournal(func(r journal.Record) { stored[r.Pos] = r })
	for _, e := range shown {
		if r := stored[e.Pos/framesPerEvent]; r.Seq != e.Seq || string(r.Payload) != string(e.Payload) {
			p.violated("event %d was shown, and is another one or gone: %d %s %.200s; stored is %d %s %.200s", e.Pos/framesPerEvent,
				e.Seq, e.Type, e.Payload, r.Seq, r.Type, r.Payload)
		}
	}
	p.t.Logf("%d events were shown by the node at the old primary", len(shown))
}
