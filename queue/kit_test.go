package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/queue"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
	"harness/tests/polling"
)

// patience bounds every wait of these tests; only a fault uses it up.
const patience = 60 * time.Second

// store is one store with a journal of this process.
type store struct {
	t       *testing.T
	db      *database.DB
	journal *journal.Journal
}

func newStore(t *testing.T, db *database.DB) *store {
	t.Helper()
	return &store{t: t, db: db, journal: startJournal(t, db)}
}

func startJournal(t *testing.T, db *database.DB) *journal.Journal {
	t.Helper()
	j := journal.New(db, journal.Options{Logger: zerolog.Nop(), PollInterval: 20 * time.Millisecond})
	lifecycletest.Run(t, j)
	return j
}

type option func(*queue.Options)

// open makes a queue on the store and stops it at the end of the test.
func (s *store) open(node string, definitions []queue.Definition, options ...option) *queue.Queue {
	s.t.Helper()
	return s.openOn(s.journal, node, definitions, options...)
}

func (s *store) openOn(j *journal.Journal, node string, definitions []queue.Definition,
	options ...option) *queue.Queue {
	s.t.Helper()
	opts := queue.Options{Journal: j, DB: s.db, NodeID: node, Definitions: definitions,
		Logger: zerolog.New(zerolog.NewTestWriter(s.t)).Level(zerolog.WarnLevel), Poll: 50 * time.Millisecond,
		Drain: 100 * time.Millisecond, Policy: queue.Policy{CancelGrace: 300 * time.Millisecond}}
	for _, edit := range options {
		edit(&opts)
	}
	q := queue.New(opts)
	s.t.Cleanup(func() { stop(s.t, q) })
	return q
}

func (s *store) start(node string, definitions []queue.Definition, options ...option) *queue.Queue {
	s.t.Helper()
	q := s.open(node, definitions, options...)
	if err := q.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return q
}

func stop(t *testing.T, q *queue.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Errorf("stop the queue: %v", err)
	}
}

// jobEvents returns the stored events of one job so far, in order, from any process.
func (s *store) jobEvents(id string) []journal.Record {
	s.t.Helper()
	var own []journal.Record
	for after := int64(0); ; {
		records, err := s.journal.Read(s.t.Context(), journal.Query{After: after})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(records) == 0 {
			return own
		}
		after = records[len(records)-1].Pos
		for _, record := range records {
			var payload struct{ JobID string }
			if err := json.Unmarshal(record.Payload, &payload); err == nil && payload.JobID == id &&
				record.Type != "queue.cancel_requested" {
				own = append(own, record)
			}
		}
	}
}

func (s *store) names(id string) []string {
	var names []string
	for _, record := range s.jobEvents(id) {
		names = append(names, record.Type)
	}
	return names
}

// waitEvent waits for an event of a job and returns its payload.
func (s *store) waitEvent(id, name string) map[string]any {
	s.t.Helper()
	var found journal.Record
	if !polling.Until(patience, func() bool {
		records := s.jobEvents(id)
		at := slices.IndexFunc(records, func(r journal.Record) bool { return r.Type == name })
		if at >= 0 {
			found = records[at]
		}
		return at >= 0
	}) {
		s.t.Fatalf("no %s of job %s; its events: %v", name, id, s.names(id))
	}
	var payload map[string]any
	if err := json.Unmarshal(found.Payload, &payload); err != nil {
		s.t.Fatal(err)
	}
	return payload
}

func enqueue(t *testing.T, q *queue.Queue, in queue.Request) queue.EnqueueResult {
	t.Helper()
	if in.Payload == nil {
		in.Payload = json.RawMessage(`{}`)
	}
	if in.ProjectID == "" {
		in.ProjectID = "p"
	}
	result, err := q.Enqueue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func waitFinal(t *testing.T, q *queue.Queue, id string) queue.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	job, err := q.WaitForTerminal(ctx, id)
	if err != nil {
		t.Fatalf("job %s is %s: %v", id, job.State, err)
	}
	return job
}

// gate is a handler that reports its start and waits until the test releases it.
type gate struct {
	began chan string
	open  chan struct{}
}

func newGate() *gate { return &gate{began: make(chan string, 1000), open: make(chan struct{})} }

func (g *gate) run(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
	g.began <- run.Job().ID
	select {
	case <-g.open:
		return json.RawMessage(`{"status":"ok"}`), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (g *gate) waitBegun(t *testing.T) string {
	t.Helper()
	select {
	case id := <-g.began:
		return id
	case <-time.After(patience):
		t.Fatal("no job began")
		return ""
	}
}

func done(context.Context, *queue.Run) (json.RawMessage, error) {
	return json.RawMessage(`{"status":"ok"}`), nil
}

func code(err error) string {
	var refusal *queue.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

func pointer[T any](value T) *T { return &value }

func each(t *testing.T, test func(t *testing.T, s *store)) {
	t.Helper()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		test(t, newStore(t, dbtest.Open(t, engine)))
	})
}
