package queue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"harness/queue"
)

func dedupes() []queue.Definition {
	var all []queue.Definition
	for _, mode := range []queue.DedupeMode{queue.DedupeNone, queue.SingleFlight, queue.DropDuplicate,
		queue.MergeDuplicate} {
		all = append(all, queue.Definition{Type: string(mode), Dedupe: mode, Run: done,
			Merge: func(existing, incoming json.RawMessage) (json.RawMessage, error) {
				if string(incoming) == `{"bad":1}` {
					return nil, errors.New("cannot merge")
				}
				return json.RawMessage(`[` + string(existing) + `,` + string(incoming) + `]`), nil
			}, Validate: func(payload json.RawMessage) (json.RawMessage, error) {
				if string(payload) == `{"refuse":1}` {
					return nil, errors.New("refused")
				}
				return payload, nil
			}})
	}
	return all
}

// slow keeps jobs queued: one running job of another project occupies the only slot.
func slow(s *store, definitions []queue.Definition, options ...option) (*queue.Queue, *gate) {
	s.t.Helper()
	g := newGate()
	q := s.start("n", append(definitions, queue.Definition{Type: "hold", Run: g.run}),
		append([]option{func(o *queue.Options) { o.Policy.Concurrency = 1 }}, options...)...)
	enqueue(s.t, q, queue.Request{Type: "hold", ProjectID: "holder"})
	g.waitBegun(s.t)
	return q, g
}

func TestDedupeModes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q, g := slow(s, dedupes())
		request := func(kind, project, key, payload string) queue.Request {
			return queue.Request{Type: kind, ProjectID: project, DedupeKey: pointer(key), Payload: json.RawMessage(payload)}
		}
		first := map[string]queue.Job{}
		for _, mode := range []string{"none", "single_flight", "drop_duplicate", "merge_duplicate"} {
			first[mode] = enqueue(t, q, request(mode, "p", "k", `{"n":1}`)).Job
			again := enqueue(t, q, request(mode, "p", "k", `{"n":2}`))
			if same := again.Job.ID == first[mode].ID; same == (mode == "none") ||
				(again.Status == queue.AlreadyQueued) != same {
				t.Errorf("%s: second is %s, same job %t", mode, again.Status, same)
			}
			for name, other := range map[string]queue.Request{"project": request(mode, "other", "k", `{}`),
				"key": request(mode, "p", "k2", `{}`), "no key": {Type: mode, ProjectID: "p"}} {
				if got := enqueue(t, q, other); got.Status != queue.Enqueued {
					t.Errorf("%s: another %s is %s", mode, name, got.Status)
				}
			}
		}
		if merged := enqueue(t, q, request("merge_duplicate", "p", "k", `{"bad":1}`)); merged.MergeError == nil ||
			string(merged.Job.Payload) != `[{"n":1},{"n":2}]` {
			t.Errorf("after a failed merge the payload is %s (%v)", merged.Job.Payload, merged.MergeError)
		}
		close(g.open)
		for _, job := range first {
			waitFinal(t, q, job.ID)
		}
		for mode, status := range map[string]queue.EnqueueStatus{"single_flight": queue.Enqueued,
			"drop_duplicate": queue.AlreadyQueued, "merge_duplicate": queue.Enqueued} {
			if got := enqueue(t, q, request(mode, "p", "k", `{}`)); got.Status != status {
				t.Errorf("%s after its end: %s", mode, got.Status)
			}
		}
	})
}

func TestCapacityAndWhatComesBeforeIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q, _ := slow(s, dedupes(), func(o *queue.Options) { o.Policy.MaxGlobal, o.Policy.MaxPerProject = 4, 2 })
		key := pointer("k")
		enqueue(t, q, queue.Request{Type: "single_flight", ProjectID: "p", DedupeKey: key})
		enqueue(t, q, queue.Request{Type: "none", ProjectID: "p"})
		refused := func(in queue.Request, want, message string) {
			t.Helper()
			in.Payload = json.RawMessage(`{}`)
			if _, err := q.Enqueue(t.Context(), in); code(err) != want || err.Error() != message {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		refused(queue.Request{Type: "none", ProjectID: "p"}, queue.CodeFull, "orchestrator queue is at project capacity")
		enqueue(t, q, queue.Request{Type: "none", ProjectID: "p2"})
		refused(queue.Request{Type: "none", ProjectID: "p3"}, queue.CodeFull, "orchestrator queue is at global capacity")
		refused(queue.Request{Type: "none", ProjectID: "p"}, queue.CodeFull, "orchestrator queue is at global capacity")
		refused(queue.Request{Type: "nope", ProjectID: "p"}, queue.CodeUnknownType, "unknown orchestrator job type: nope")
		if _, err := q.Enqueue(t.Context(),
			queue.Request{Type: "none", ProjectID: "p", Payload: json.RawMessage(`{"refuse":1}`)}); code(
			err) != queue.CodeInvalidPayload {
			t.Errorf("a bad payload got %v", err)
		}
		// The duplicate check precedes the capacity check.
		if got := enqueue(t, q,
			queue.Request{Type: "single_flight", ProjectID: "p", DedupeKey: key}); got.Status != queue.AlreadyQueued {
			t.Errorf("a duplicate at full capacity is %s", got.Status)
		}
	})
}

// 40 concurrent enqueues with one key on two nodes make one job; 40 without a key fill the ten places exactly.
func TestConcurrentEnqueuesOnTwoNodes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		limits := func(o *queue.Options) { o.Policy.MaxPerProject = 10 }
		q, _ := slow(s, dedupes(), limits)
		nodes := []*queue.Queue{q, s.openOn(startJournal(t, s.db), "n2", dedupes(), limits, func(o *queue.Options) {
			o.Policy.Concurrency = 1
		})}
		if err := nodes[1].Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		race := func(in queue.Request) map[string]int {
			in.Payload = json.RawMessage(`{}`)
			var (
				mu     sync.Mutex
				group  sync.WaitGroup
				counts = map[string]int{}
			)
			for n := range 40 {
				group.Go(func() {
					result, err := nodes[n%2].Enqueue(t.Context(), in)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						counts[err.Error()]++
						return
					}
					counts[string(result.Status)]++
				})
			}
			group.Wait()
			return counts
		}
		if counts := race(queue.Request{Type: "single_flight", ProjectID: "p",
			DedupeKey: pointer("k")}); counts["enqueued"] != 1 || counts["already_queued"] != 39 {
			t.Errorf("one key: %v", counts)
		}
		if counts := race(queue.Request{Type: "none", ProjectID: "full"}); counts["enqueued"] != 10 ||
			counts["orchestrator queue is at project capacity"] != 30 {
			t.Errorf("ten slots: %v", counts)
		}
	})
}

func TestEnqueueNeedsAStartedQueue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q := s.open("n", dedupes())
		in := queue.Request{Type: "none", ProjectID: "p", Payload: json.RawMessage(`{}`)}
		if _, err := q.Enqueue(t.Context(), in); code(err) != queue.CodeConflict {
			t.Errorf("before Start: %v", err)
		}
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop(t, q)
		if _, err := q.Enqueue(t.Context(), in); code(err) != queue.CodeConflict {
			t.Errorf("after Stop: %v", err)
		}
	})
}

// Text that databases reject is stored and returned unchanged.
func TestStrangeTexts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q, _ := slow(s, dedupes())
		strange := "a\x00b\x01c\u2028"
		job := enqueue(t, q, queue.Request{Type: "none", ProjectID: strange, SourceSessionID: pointer("s"),
			DedupeKey: &strange, Payload: json.RawMessage(`{"t":"\u0000"}`)}).Job
		jobs, err := q.Jobs(t.Context(), strange, queue.Queued)
		if err != nil || len(jobs) != 1 || jobs[0].ID != job.ID || jobs[0].ProjectID != strange ||
			*jobs[0].DedupeKey != strange || string(jobs[0].Payload) != `{"t":"\u0000"}` {
			t.Errorf("read %+v, %v", jobs, err)
		}
		if _, err := q.Job(t.Context(), "no\x00such"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("an unknown job: %v", err)
		}
	})
}

// Both engines refuse a key that is too long for a Postgres index, and accept the longest one that fits.
func TestKeysHaveASize(t *testing.T) {
	t.Parallel()
	long := func(n int) string {
		random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret: Postgres compresses what repeats
		var b strings.Builder
		for range n {
			b.WriteRune(rune(0x4e00 + random.IntN(0x5000)))
		}
		return b.String()
	}
	each(t, func(t *testing.T, s *store) {
		q, _ := slow(s, dedupes())
		for _, c := range []struct{ project, key, wrong string }{
			{long(200), long(512), ""}, {"p", long(513), "dedupeKey"}, {long(201), "k", "projectId"},
			{long(3000), long(3000), "projectId"},
		} {
			_, err := q.Enqueue(t.Context(), queue.Request{Type: "single_flight", ProjectID: c.project, DedupeKey: &c.key,
				Payload: json.RawMessage(`{}`)})
			if c.wrong == "" && err != nil || c.wrong != "" &&
				(code(err) != queue.CodeInvalidPayload || !strings.HasPrefix(err.Error(), c.wrong+" is too long")) {
				t.Errorf("%d and %d characters: %v", len(c.project)/3, len(c.key)/3, err)
			}
		}
	})
}

// Of 200 retained final jobs, failed ones outlive canceled ones, and canceled ones outlive completed ones. Within a
// state the newest stay.
func TestRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q := s.start("n", []queue.Definition{{Type: "ok", Run: done}, {Type: "bad", Run: fail("no")}},
			func(o *queue.Options) { o.Policy.Retention = 3 })
		var ids []string
		for i, kind := range []string{"bad", "ok", "ok", "ok", "ok", "bad"} {
			job := enqueue(t, q,
				queue.Request{Type: kind, ProjectID: "p", Payload: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}).Job
			waitFinal(t, q, job.ID)
			ids = append(ids, job.ID)
		}
		jobs, err := q.Jobs(t.Context(), "p", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) != 3 || jobs[0].ID != ids[0] || jobs[1].ID != ids[4] || jobs[2].ID != ids[5] {
			t.Errorf("kept %v of %v", jobs, ids)
		}
	})
}
