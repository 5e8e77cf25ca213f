//go:build cluster && linux

package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"harness/internal/platform/journal"
	"harness/tests/programtest"
)

// ledger holds the answers that writers got.
type ledger struct {
	mu sync.Mutex
	// acked maps a name to the time of its acknowledgment. refused are the answers that were neither an acknowledgment
	// nor "come again".
	acked   map[string]time.Time
	refused []string
	writers sync.WaitGroup
	stop    chan struct{}
}

// keepWriting creates projects at all nodes until check.
func (p *trio) keepWriting() *ledger {
	l := &ledger{acked: map[string]time.Time{}, stop: make(chan struct{})}
	for n := range 3 {
		for w := range 3 {
			l.writers.Go(func() { l.write(func() *programtest.Server { return p.node(n) }, fmt.Sprintf("%s-%d", nodeName(n), w)) })
		}
	}
	return l
}

func nodeName(n int) string { return string(rune('a' + n)) }

func (l *ledger) write(node func() *programtest.Server, prefix string) {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		case <-time.After(5 * time.Millisecond):
		}
		name := fmt.Sprintf("%s-%d", prefix, i)
		status, raw, err := node().Try(http.MethodPost, "/api/projects", object{"name": name})
		l.mu.Lock()
		switch {
		case err != nil, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		case status == http.StatusOK:
			l.acked[name] = time.Now()
		default:
			l.refused = append(l.refused, fmt.Sprintf("%s: %d %s", name, status, raw))
		}
		l.mu.Unlock()
	}
}

// since returns how many writes at a node were acknowledged after a time.
func (l *ledger) since(node int, after time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, at := range l.acked {
		if name[:1] == nodeName(node) && at.After(after) {
			n++
		}
	}
	return n
}

// awaitAll waits until each of some nodes has acknowledged writes after a time, and returns how long that took
// each.
func (p *trio) awaitAll(l *ledger, after time.Time, nodes ...int) (took []time.Duration) {
	p.t.Helper()
	for _, node := range nodes {
		p.eventually("are there writes at "+nodeName(node), func() bool { return l.since(node, after) > 20 })
		l.mu.Lock()
		first := time.Now()
		for name, at := range l.acked {
			if name[:1] == nodeName(node) && at.After(after) && at.Before(first) {
				first = at
			}
		}
		l.mu.Unlock()
		took = append(took, first.Sub(after).Round(time.Millisecond))
	}
	return took
}

// check ends the writing. Every acknowledged write is stored once, every other write at most once.
func (p *trio) check(l *ledger) {
	p.t.Helper()
	close(l.stop)
	l.writers.Wait()
	stored := map[string]int{}
	p.readJournal(func(r journal.Record) {
		var made struct{ Project struct{ Name string } }
		if r.Type == "project_upserted" && json.Unmarshal(r.Payload, &made) == nil {
			stored[made.Project.Name]++
		}
		if r.Type == "node.ended" || r.Type == "session.taken" {
			p.violated("event %d: %s, though every node lived", r.Pos, r.Type)
		}
	})
	for _, answer := range l.refused {
		p.violated("a write was answered %s", answer)
	}
	for name := range l.acked {
		if stored[name] == 0 {
			p.violated("%s was acknowledged and is lost", name)
		}
	}
	for name, times := range stored {
		if times > 1 {
			p.violated("%s is there %d times", name, times)
		}
	}
	p.t.Logf("%d writes were acknowledged, %d are stored", len(l.acked), len(stored))
}
