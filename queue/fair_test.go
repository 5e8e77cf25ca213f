package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"harness/internal/platform/database"
	"harness/queue"
	"harness/tests/dbtest"
)

// Jobs of three nodes start in the order in which one node would start them, even if each can run only on its own node:
// no node is skipped because another one found a free slot first.
func TestNodesTakeTurnsInTheOrderOfTheirJobs(t *testing.T) {
	t.Parallel()
	first := newStore(t, dbtest.Open(t, database.Postgres))
	const nodes, each = 3, 12
	var mu sync.Mutex
	var order []string
	open := make(chan struct{})
	work := func(_ context.Context, run *queue.Run) (json.RawMessage, error) {
		<-open
		mu.Lock()
		defer mu.Unlock()
		order = append(order, run.Job().ID)
		return json.RawMessage(`{}`), nil
	}
	var queues []*queue.Queue
	for n := range nodes {
		name := fmt.Sprintf("node-%d", n)
		first.session("of-"+name, name)
		queues = append(queues, first.openOn(startJournal(t, first.db), name, []queue.Definition{{Type: "work", Run: work}},
			func(o *queue.Options) { o.Policy.Concurrency = 1 }))
	}
	for _, q := range queues {
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var jobs []string
	for i := range nodes * each {
		made := enqueue(t, queues[i%nodes], queue.Request{Type: "work", ProjectID: fmt.Sprintf("p%d", i),
			SourceSessionID: pointer(fmt.Sprintf("of-node-%d", i%nodes))})
		jobs = append(jobs, made.Job.ID)
	}
	close(open) // the first job has waited
	for _, id := range jobs {
		if job := waitFinal(t, queues[0], id); job.State != queue.Completed || job.Attempts != 1 {
			t.Errorf("job %s is %s after %d attempts", id, job.State, job.Attempts)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	place := map[string]int{}
	for i, id := range jobs {
		place[id] = i
	}
	var begun []int
	late := 0
	for i, id := range order {
		begun = append(begun, place[id])
		late = max(late, i-place[id], place[id]-i)
	}
	if len(order) != len(jobs) || late > 1 {
		t.Errorf("%d of %d jobs began in the order %v, want that of their making", len(order), len(jobs), begun)
	}
}
