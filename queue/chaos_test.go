package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/queue"
	"harness/tests/dbtest"
)

const (
	chaosURL  = "QUEUE_CHAOS_URL"
	chaosPath = "QUEUE_CHAOS_PATH"
	chaosNode = "QUEUE_CHAOS_NODE"

	chaosJobs     = 400 / (1 + queue.Shortened/4) // 133 under -race, where a process spends most of its life starting
	chaosProjects = 20
	chaosLimit    = 4
)

// TestMain lets this binary act as one node of the chaos test.
func TestMain(m *testing.M) {
	if node := os.Getenv(chaosNode); node != "" {
		if err := runNode(node); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runNode runs jobs until its stdin ends or it is killed. It starts again if the store is cut off while it starts.
func runNode(node string) error {
	ctx := context.Background()
	tick := time.Tick(20 * time.Millisecond)
	end, err := beginNode(ctx, node)
	for tries := 0; err != nil && tries < 500; tries++ {
		<-tick
		end, err = beginNode(ctx, node)
	}
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return end()
}

func beginNode(ctx context.Context, node string) (end func() error, err error) {
	db, err := database.Open(ctx, database.Options{URL: os.Getenv(chaosURL), Path: os.Getenv(chaosPath), MaxConns: 4})
	if err != nil {
		return nil, err
	}
	log := zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)
	j := journal.New(db, journal.Options{Logger: log, PollInterval: 50 * time.Millisecond})
	q := queue.New(chaosOptions(db, j, node, log))
	end = func() error { return errors.Join(q.Stop(ctx), j.Stop(ctx), db.Close()) }
	if err = j.Start(ctx); err == nil {
		err = q.Start(ctx)
	}
	if err != nil {
		_ = end()
		return nil, err
	}
	return end, nil
}

func chaosOptions(db *database.DB, j *journal.Journal, node string, log zerolog.Logger) queue.Options {
	return queue.Options{Journal: j, DB: db, NodeID: node, Logger: log, Lease: time.Second, Poll: 50 * time.Millisecond,
		Policy: queue.Policy{Concurrency: chaosLimit, MaxAttempts: 3, Retention: chaosJobs},
		Definitions: []queue.Definition{
			{Type: "work", Delay: queue.LinearDelay, Run: func(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
				if err := run.SetContext(ctx, "thread", run.Job().ID, nil); err != nil {
					return nil, err
				}
				run.Progress(json.RawMessage(`{"half":true}`))
				select {
				case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
				case <-ctx.Done():
				}
				return json.RawMessage(`{"status":"ok"}`), nil
			}},
			{Type: "hold", Run: func(ctx context.Context, _ *queue.Run) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}},
		}}
}

// Chaos: processes run 400 jobs of 20 projects. Every half second in which a job ended, the test kills one of them and
// starts a replacement. On Postgres it also cuts all their connections for half a second in between. All jobs end, none
// twice, each with its events complete and in order. An observer never finds two running jobs of a project, or more
// running jobs than the limit.
func TestChaosOfKilledProcesses(t *testing.T) {
	for engine, processes := range map[database.Engine]int{database.Postgres: 4, database.SQLite: 2} {
		t.Run(string(engine), func(t *testing.T) {
			opts := dbtest.Options(t, engine)
			db := dbtest.Connect(t, opts)
			if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "lock")); err != nil {
				t.Fatal(err)
			}
			ids := fill(t, db)
			watching, stopWatching := context.WithCancel(t.Context())
			observed := observe(watching, t, db)
			// On Postgres the test cuts every connection of the processes now and then, and restores it. The observer
			// and the checker keep theirs.
			var wire *cutter
			if engine == database.Postgres {
				wire, opts = newCutter(t, opts)
			}
			count := func() (left int) {
				if err := db.Read().QueryRowContext(t.Context(),
					`select count(*) from jobs where type = 'work' and state in ('queued', 'running')`).Scan(&left); err != nil {
					t.Fatal(err)
				}
				return left
			}
			kills, cuts := 0, 0
			nodes := make([]*node, processes)
			for i := range nodes {
				nodes[i] = startNode(t, opts, fmt.Sprintf("node-%d", i))
			}
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			deadline := time.After(2 * time.Minute)
			for left, before := len(ids), 0; left > 0; {
				select {
				case <-tick.C:
				case <-deadline:
					t.Fatalf("%d jobs are not over", left)
				}
				if before == left { // a process may take longer than a tick to start: kill none before it had an effect
					left = count()
					continue
				}
				before = left
				if wire != nil && kills%2 == 0 {
					wire.cut()
					<-tick.C
					wire.restore()
					cuts++
				}
				i := kills % processes
				nodes[i].kill(t)
				name := nodes[i].name
				if kills%2 == 1 { // half of the killed nodes never return: their jobs are recovered by lease, not by name
					name = fmt.Sprintf("node-%d-%d", i, kills)
				}
				nodes[i] = startNode(t, opts, name)
				kills++
				left = count()
			}
			stopWatching()
			reads := <-observed
			for _, n := range nodes {
				n.stop(t)
			}
			again := checkLives(t, startJournal(t, db), ids)
			t.Logf("%d kills, %d cuts of every connection, %d starts of a job beyond its first, %d looks of the observer", kills,
				cuts, again, reads)
		})
	}
}

// fill enqueues the jobs while one job of another project occupies the only slot.
func fill(t *testing.T, db *database.DB) map[string]bool {
	t.Helper()
	j := startJournal(t, db)
	opts := chaosOptions(db, j, "producer", zerolog.Nop())
	opts.Policy.Concurrency, opts.Drain = 1, time.Millisecond
	q := queue.New(opts)
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	hold := enqueue(t, q, queue.Request{Type: "hold", ProjectID: "hold"}).Job
	(&store{t: t, db: db, journal: j}).waitEvent(hold.ID, "orchestrator_job_started")
	ids := map[string]bool{}
	for n := range chaosJobs {
		priority := queue.Interactive
		if n%3 == 0 {
			priority = queue.Background
		}
		ids[enqueue(t, q, queue.Request{Type: "work", ProjectID: fmt.Sprintf("p-%d", n%chaosProjects),
			SourceSessionID: pointer("s"), Priority: priority}).Job.ID] = true
	}
	stop(t, q)
	return ids
}

// observe polls the store continuously, in one statement each time: every result is a consistent snapshot.
func observe(ctx context.Context, t *testing.T, db *database.DB) <-chan int {
	reads := make(chan int, 1)
	go func() {
		tick := time.Tick(2 * time.Millisecond)
		n := 0
		for {
			var running, projects int
			err := db.Read().QueryRowContext(ctx,
				`select count(*), count(distinct project_id) from jobs where state = 'running'`).Scan(&running, &projects)
			if err == nil && (running > chaosLimit || projects != running) {
				t.Errorf("%d jobs of %d projects are running", running, projects)
			}
			n++
			select {
			case <-tick:
			case <-ctx.Done():
				reads <- n
				return
			}
		}
	}()
	return reads
}

// checkLives reads the journal from the start: each job was queued, started, and ended once, with no event after its
// end.
func checkLives(t *testing.T, j *journal.Journal, ids map[string]bool) (again int) {
	t.Helper()
	lives := map[string][]string{}
	var last int64
	for {
		records, err := j.Read(t.Context(), journal.Query{After: last, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			break
		}
		for _, record := range records {
			if record.Pos != last+1 {
				t.Fatalf("position %d follows %d", record.Pos, last)
			}
			last = record.Pos
			var payload struct{ JobID string }
			if err := json.Unmarshal(record.Payload, &payload); err != nil {
				t.Fatal(err)
			}
			if ids[payload.JobID] {
				lives[payload.JobID] = append(lives[payload.JobID], record.Type)
			}
		}
	}
	for id := range ids {
		life := lives[id]
		if len(life) < 3 || life[0] != "orchestrator_job_queued" || life[1] != "orchestrator_job_started" {
			t.Errorf("job %s: %v", id, life)
			continue
		}
		for i, event := range life[2:] {
			final := i == len(life)-3
			switch event {
			case "orchestrator_job_started":
				again++
				fallthrough
			case "orchestrator_job_progress":
				if final {
					t.Errorf("job %s has no end: %v", id, life)
				}
			case "orchestrator_job_completed", "orchestrator_job_failed":
				if !final {
					t.Errorf("job %s goes on after its end: %v", id, life)
				}
			default:
				t.Errorf("job %s: %v", id, life)
			}
		}
	}
	return again
}

// node is one process.
type node struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	once  sync.Once
}

func startNode(t *testing.T, opts database.Options, name string) *node {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), chaosNode+"="+name, chaosURL+"="+opts.URL, chaosPath+"="+opts.Path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &node{name: name, cmd: cmd, stdin: stdin}
	t.Cleanup(func() { n.kill(t) })
	return n
}

func (n *node) kill(t *testing.T) {
	n.once.Do(func() {
		if err := n.cmd.Process.Kill(); err != nil {
			t.Errorf("kill %s: %v", n.name, err)
		}
		_ = n.cmd.Wait() // "signal: killed"
	})
}

func (n *node) stop(t *testing.T) {
	n.once.Do(func() {
		_ = n.stdin.Close()
		if err := n.cmd.Wait(); err != nil {
			t.Errorf("%s did not stop cleanly: %v", n.name, err)
		}
	})
}
