package queue_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/queue"
)

func TestPick(t *testing.T) {
	t.Parallel()
	policy := queue.DefaultPolicy()
	const now = 100_000
	c := func(id, project string, priority queue.Priority, age int64, burst int) queue.Candidate {
		return queue.Candidate{ID: id, ProjectID: project, Priority: priority, CreatedAt: now - age, Burst: burst}
	}
	for name, one := range map[string]struct {
		candidates []queue.Candidate
		want       string
	}{
		"nothing": {nil, ""},
		"interactive before older background": {
			[]queue.Candidate{c("b", "p", queue.Background, 9000, 0), c("i", "p", queue.Interactive, 1, 0)}, "i"},
		"aged background needs the burst": {
			[]queue.Candidate{c("b", "p", queue.Background, 15000, 2), c("i", "p", queue.Interactive, 1, 2)}, "i"},
		"aged background after the burst": {
			[]queue.Candidate{c("b", "p", queue.Background, 15000, 3), c("i", "p", queue.Interactive, 1, 3)}, "b"},
		"young background waits after the burst": {
			[]queue.Candidate{c("b", "p", queue.Background, 14999, 3), c("i", "p", queue.Interactive, 1, 3)}, "i"},
		"forced before other projects": {[]queue.Candidate{c("i", "q", queue.Interactive, 50000, 0),
			c("b", "p", queue.Background, 15000, 3)}, "b"},
		"interactive of a project before another": {
			[]queue.Candidate{c("b", "q", queue.Background, 90000, 0), c("i", "p", queue.Interactive, 1, 0)}, "i"},
		"older across projects": {
			[]queue.Candidate{c("i1", "q", queue.Interactive, 1, 0), c("i2", "p", queue.Interactive, 2, 0)}, "i2"},
		"same age: by id": {
			[]queue.Candidate{c("i2", "q", queue.Interactive, 1, 0), c("i1", "p", queue.Interactive, 1, 0)}, "i1"},
		"a background job alone": {[]queue.Candidate{c("b", "p", queue.Background, 0, 9)}, "b"},
		"one project's burst is not another's": {
			[]queue.Candidate{c("b", "p", queue.Background, 15000, 0), c("i", "q", queue.Interactive, 1, 9)}, "i"},
		"the older of two forced": {[]queue.Candidate{c("b1", "p", queue.Background, 15000, 3),
			c("b2", "q", queue.Background, 16000, 3)}, "b2"},
		"a forced one holds its project's others back": {[]queue.Candidate{c("i", "p", queue.Interactive, 50000, 3),
			c("b", "p", queue.Background, 15000, 3)}, "b"},
	} {
		got, found := policy.Pick(one.candidates, now)
		if got.ID != one.want || found != (one.want != "") {
			t.Errorf("%s: picked %q", name, got.ID)
		}
	}
}

func TestDelaysAndClassification(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{1: 0, 2: 60 * time.Millisecond, 3: 120 * time.Millisecond} {
		if got := queue.LinearDelay(attempt); got != want {
			t.Errorf("linear after %d: %s", attempt, got)
		}
	}
	for attempt, want := range map[int]time.Duration{0: 100 * time.Millisecond, 1: 100 * time.Millisecond,
		4: 800 * time.Millisecond, 9: 25600 * time.Millisecond, 10: 30 * time.Second, 1 << 40: 30 * time.Second} {
		if got := queue.BackoffDelay(attempt); got != want {
			t.Errorf("backoff after %d: %s", attempt, got)
		}
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("agent: %w", queue.ErrTimeout), true},
		{fmt.Errorf("no progress: %w", queue.Transient(errors.New("still"))), true},
		{fmt.Errorf("send: %w", codex.Refusal("turn/start", -32600, "Thread not found: x")), true},
		{codex.Refusal("thread/read", -32600, "includeTurns is unavailable"), true},
		{codex.Refusal("turn/start", -32000, "model temporarily unavailable"), true},
		{fmt.Errorf("%w: codex did not answer turn/start", runtime.ErrTimeout), true}, {os.ErrDeadlineExceeded, true},
		{fmt.Errorf("read the items that run: %w", io.ErrUnexpectedEOF), true},
		{fmt.Errorf("read session x: %w", &pgconn.PgError{Code: "57P01", Message: "terminating connection"}), true},
		{&pgconn.PgError{Code: "42P01", Message: "there is no such table"}, false},
		{codex.Refusal("turn/start", -32600, "input must not be empty"), false}, {queue.ErrCanceled, false},
		{errors.New("the answer quotes: timeout, thread not found"), false},
	} {
		if got := queue.Retryable(c.err); got != c.want {
			t.Errorf("%q is retryable: %t", c.err, got)
		}
	}
}
