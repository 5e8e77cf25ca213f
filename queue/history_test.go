package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// errRollback ends a history and leaves nothing in the store.
var errRollback = errors.New("the history is over")

// TestRandomHistoriesOfDecisionsAgreeWithTheModel runs seeded random histories of enqueue, claim, finish, fail, cancel,
// lease renewal, crash recovery and clock moves through the product's own decisions and SQL. Each history is one
// transaction of a real store, rolled back at its end. After every step the test compares jobs and events with the
// model: 4,700 histories on SQLite, 300 on Postgres (a tenth under -race). It excludes the journal and the runner: the
// chaos test covers their histories.
func TestRandomHistoriesOfDecisionsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	for engine, histories := range map[database.Engine]uint64{database.SQLite: 4700, database.Postgres: 300} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, engine)
			const workers = 2
			failures := make(chan string, workers)
			stores := []*database.DB{db}
			for len(stores) < workers {
				stores = append(stores, dbtest.Open(t, engine))
			}
			for w, store := range stores {
				go func() {
					for seed := uint64(w); seed < histories/shortened; seed += workers {
						if failure := playHistory(t.Context(), store, seed); failure != "" {
							failures <- fmt.Sprintf("seed %d: %s", seed, failure)
							return
						}
					}
					failures <- ""
				}()
			}
			for range stores {
				if failure := <-failures; failure != "" {
					t.Error(failure)
				}
			}
		})
	}
}

// history is one random life of a queue, in the store and in the model.
type history struct {
	ctx     context.Context
	tx      database.Tx
	random  *rand.Rand
	decider decider
	model   *model
	now     int64
	owners  map[string]string // by node
	starts  int
	trace   []string
}

func playHistory(ctx context.Context, db *database.DB, seed uint64) (failure string) {
	err := db.Update(ctx, func(tx database.Tx) error {
		h := newHistory(ctx, tx, seed)
		for range 16 {
			step, err := h.step()
			if err != nil {
				failure = fmt.Sprintf("%s: %v", step, err)
				break
			}
			h.trace = append(h.trace, step)
			if difference := h.compare(); difference != "" {
				failure = strings.Join(h.trace, "\n") + "\n" + difference
				break
			}
		}
		return errRollback
	})
	if !errors.Is(err, errRollback) {
		return err.Error()
	}
	return failure
}

func newHistory(ctx context.Context, tx database.Tx, seed uint64) *history {
	policy := modelPolicy()
	m := &model{policy: policy, modes: map[string]DedupeMode{}, asks: map[string]bool{"asked": true, "single": true},
		burst: map[string]int{}}
	var definitions []Definition
	for kind, mode := range map[string]DedupeMode{"single": SingleFlight, "drop": DropDuplicate, "merge": MergeDuplicate,
		"asked": DedupeNone} {
		cancel := MarkCanceled
		if m.asks[kind] {
			cancel = InterruptTurn
		}
		m.modes[kind] = mode
		definitions = append(definitions, Definition{Type: kind, Dedupe: mode, Cancel: cancel, Delay: LinearDelay,
			Merge: func(_, _ json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{"n":0}`), nil }})
	}
	ids := 0
	return &history{ctx: ctx, tx: tx, random: rand.New(rand.NewPCG(seed, 5)), model: m, now: 1_000_000,
		owners: map[string]string{"a": "a0", "b": "b0"},
		decider: decider{policy: policy, definitions: newRegistry(definitions), hooks: true, newID: func() string {
			ids++
			return modelID(ids)
		}}}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// step does one random operation in the store and in the model and compares the results.
func (h *history) step() (string, error) {
	h.now += pick[int64](h.random, 0, 0, 1, 50, 700, 2000, 15000, 16000)
	node := pick(h.random, "a", "b")
	owner := h.owners[node]
	var (
		name, want, got string
		events          []journal.Event
		err             error
	)
	h.model.events = nil
	switch h.random.IntN(12) {
	case 0, 1, 2, 3:
		in := Request{Type: pick(h.random, "single", "drop", "merge", "asked"), ProjectID: pick(h.random, "p", "q"),
			Priority: pick(h.random, Interactive, Interactive, Background),
			Payload:  json.RawMessage(fmt.Sprintf(`{"n":%d}`, h.random.IntN(9)+1))}
		key := pick(h.random, "", "x", "y")
		if key != "" {
			in.DedupeKey = &key
		}
		name = fmt.Sprintf("%d enqueue %s %s %s key=%s %s", h.now, in.ProjectID, in.Type, in.Priority, key, in.Payload)
		want = h.model.enqueue(in.ProjectID, in.Type, key, string(in.Payload), in.Priority, h.now)
		var result EnqueueResult
		result, events, err = h.decider.enqueue(h.ctx, h.tx, in, h.now)
		var refused *Error
		if errors.As(err, &refused) {
			got, err = refused.Message, nil
		} else {
			got = string(result.Status) + " " + result.Job.ID
		}
	case 4, 5, 6:
		name = fmt.Sprintf("%d claim by %s", h.now, owner)
		h.model.claim(node, owner, h.now+15000, h.now)
		_, _, events, err = h.decider.claim(h.ctx, h.tx, claimant{node: node, owner: owner, leaseUntil: h.now + 15000},
			func(Candidate) bool { return false }, h.now)
	case 7, 8:
		id, by, number := h.target(owner)
		out := outcome{result: json.RawMessage(`{}`)}
		out.err = pick(h.random, nil, ErrTimeout, errors.New("no such file"))
		name = fmt.Sprintf("%d finish %s by %s attempt %d: %v", h.now, id, by, number, out.err)
		failure := ""
		if out.err != nil {
			failure = out.err.Error()
		}
		want = h.model.finish(id, by, number, failure, h.now)
		got = "finished"
		if _, events, err = h.decider.finish(h.ctx, h.tx, attempt{id, by, number}, out, h.now); errors.Is(err, errFenced) {
			got, err = "fenced", nil
		}
	case 9:
		id, _, _ := h.target(owner)
		name = fmt.Sprintf("%d cancel %s", h.now, id)
		want = h.model.cancel(id, h.now)
		var (
			job  Job
			over *TerminalError
		)
		job, events, err = h.decider.cancel(h.ctx, h.tx, id, "api_cancel", h.now)
		switch {
		case errors.Is(err, ErrNotFound):
			got, err = "not found", nil
		case errors.As(err, &over):
			got, err = "over", nil
		case job.State == Canceled:
			got = "canceled"
		default:
			got = "asked"
		}
	case 10:
		name = fmt.Sprintf("%d settle overdue", h.now)
		h.model.settleOverdue(h.now)
		_, events, err = h.decider.settleOverdue(h.ctx, h.tx, h.now, func(job *Job) bool { return job.leaseUntil <= h.now })
	case 11:
		h.starts++
		h.owners[node] = fmt.Sprintf("%s%d", node, h.starts)
		name = fmt.Sprintf("%d %s crashes and comes back as %s", h.now, owner, h.owners[node])
		h.model.recoverNode(node, h.owners[node], h.now)
		_, events, err = h.decider.recoverNode(h.ctx, h.tx, claimant{node: node, owner: h.owners[node]}, h.now)
	}
	if err != nil {
		return name, err
	}
	if got != want {
		return name, fmt.Errorf("answered %q, the model says %q", got, want)
	}
	return name, h.compareEvents(events)
}

// target picks a job to act on: mostly a running one by its own owner, sometimes one that its process already lost.
func (h *history) target(owner string) (id, by string, attempt int) {
	if len(h.model.jobs) == 0 {
		return modelID(1), owner, 1
	}
	j := pick(h.random, h.model.jobs...)
	for _, other := range h.model.jobs {
		if other.state == Running && h.random.IntN(2) == 0 {
			j = other
		}
	}
	by, attempt = j.owner, j.attempts
	switch h.random.IntN(8) {
	case 0:
		attempt--
	case 1:
		by = owner
	}
	return j.id, by, attempt
}

func (h *history) compareEvents(events []journal.Event) error {
	var got []string
	for _, event := range events {
		var payload struct{ JobID string }
		if err := json.Unmarshal(event.Payload, &payload); err != nil {
			return err
		}
		got = append(got, event.Type+" "+payload.JobID)
	}
	if a, b := strings.Join(got, ", "), strings.Join(h.model.events, ", "); a != b {
		return fmt.Errorf("events %q, the model says %q", a, b)
	}
	return nil
}

func (h *history) compare() string {
	stored, err := readJobs(h.ctx, h.tx, `1 = 1`)
	if err != nil {
		return err.Error()
	}
	var got, want []string
	for _, job := range stored {
		got = append(got, showJob(job))
	}
	for _, job := range h.model.sorted() {
		want = append(want, job.show())
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		return "stored\n" + a + "\nthe model says\n" + b
	}
	return ""
}
