package nodes

import (
	"database/sql"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// frozenFor is how long a node frozen while it holds the journal's head may delay the others.
const frozenFor = 3 * time.Second

// A node frozen within a transaction, while it holds the row that every writer needs, delays the others briefly. Once
// resumed, it notices that its transaction was rolled back and repeats it. Nothing is lost or duplicated.
func TestAFrozenNodeDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	siteA := programtest.New(t, programtest.WithEngine(database.Postgres))
	a, b := siteA.Start(), programtest.New(t, programtest.WithDatabaseOf(siteA)).Start()
	gate := newGate(t, siteA)
	var acknowledged []string
	create := func(i *programtest.Server, name string) {
		i.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": name})
		acknowledged = append(acknowledged, name)
	}
	for kind, state := range map[string]string{
		"between two statements":                     "idle in transaction",
		"while Postgres waits for it to read answer": "active",
	} {
		for round := range 2 {
			name := fmt.Sprintf("%s %d", kind, round)
			result := make(chan int, 1)
			gate.freeze(a, state, func() {
				status, _, err := a.Try(http.MethodPost, "/api/projects", programtest.Object{"name": gated[state] + name})
				if err != nil {
					status = 0
				}
				result <- status
			})
			began := time.Now()
			create(b, "of the other "+name)
			if took := time.Since(began); took > frozenFor {
				t.Errorf("%s: the other node waited %v", name, took)
			}
			if err := a.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if status := <-result; status != http.StatusOK {
				t.Errorf("%s: the frozen node answered %d", name, status)
			}
			acknowledged = append(acknowledged, gated[state]+name)
			create(a, "after "+name)
		}
	}
	if gate.caught == 0 {
		t.Error("Postgres was never seen to wait for the frozen server")
	}
	for _, node := range []*programtest.Server{a, b} {
		var names []string
		for _, project := range node.Want(http.StatusOK, http.MethodGet, "/api/projects", nil)["data"].([]any) {
			names = append(names, programtest.Text(project, "name"))
		}
		slices.Sort(names)
		slices.Sort(acknowledged)
		if !slices.Equal(names, acknowledged) {
			t.Errorf("stored is %q, acknowledged was %q", names, acknowledged)
		}
	}
	log := journal.New(dbtest.Connect(t, siteA.Store()), journal.Options{})
	records, err := log.Read(t.Context(), journal.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if r.Pos != int64(i+1) {
			t.Fatalf("record %d has position %d", i, r.Pos)
		}
	}
	a.Stop()
	b.Stop()
}

// A node frozen repeatedly at random moments of its writes neither stops the other node nor loses or repeats any
// acknowledged write.
func TestANodeFrozenAgainAndAgain(t *testing.T) {
	t.Parallel()
	siteA := programtest.New(t, programtest.WithEngine(database.Postgres))
	nodes := []*programtest.Server{siteA.Start(), programtest.New(t, programtest.WithDatabaseOf(siteA)).Start()}
	const writers, freezes = 4, 12
	var (
		over         = make(chan struct{})
		acknowledged = make([]atomic.Int64, len(nodes))
		running      sync.WaitGroup
	)
	for n, node := range nodes {
		for w := range writers {
			running.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-over:
						return
					default:
					}
					status, _, err := node.Try(http.MethodPost, "/api/projects", programtest.Object{"name": fmt.Sprintf("%d %d %d", n, w, i)})
					if err != nil || status != http.StatusOK { // a write that ran twice finds its name in use: 409
						t.Errorf("node %d, write %d of writer %d: %d %v", n, i, w, status, err)
						return
					}
					acknowledged[n].Add(1)
				}
			})
		}
	}
	progress := func(n int, by int64) {
		t.Helper()
		from := acknowledged[n].Load()
		nodes[n].Eventually(fmt.Sprintf("node %d goes on", n), func() bool {
			return t.Failed() || acknowledged[n].Load() >= from+by
		})
	}
	for range freezes {
		if err := nodes[0].Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		progress(1, writers+1) // at least one of them started after the freeze
		if took := time.Since(began); took > frozenFor {
			t.Errorf("the other node waited %v", took)
		}
		if err := nodes[0].Cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		progress(0, 1)
	}
	close(over)
	running.Wait()
	for n, node := range nodes {
		stored := node.Want(http.StatusOK, http.MethodGet, "/api/projects", nil)["data"].([]any)
		if want := acknowledged[0].Load() + acknowledged[1].Load(); int64(len(stored)) != want {
			t.Errorf("node %d shows %d projects of %d that were acknowledged", n, len(stored), want)
		}
		node.Stop()
	}
}

// gated are the names of projects whose insert waits at the gate, by Postgres's state after the gate. It is idle, or
// it sends more data than a client that does not read accepts.
var gated = map[string]string{"idle in transaction": "gated ", "active": "gated and loud "}

// gate is a lock in Postgres for which a node's transaction waits in the middle.
type gate struct {
	t    *testing.T
	conn *sql.Conn
	key  int64
	// caught is how often Postgres was waiting for a server that holds the head.
	caught int
}

func newGate(t *testing.T, s *programtest.Site) *gate {
	t.Helper()
	conn, err := dbtest.Connect(t, s.Store()).Raw().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	g := &gate{t: t, conn: conn, key: int64(crc32.ChecksumIEEE([]byte(s.DataDir)))}
	g.do(fmt.Sprintf(`create function gate() returns trigger language plpgsql as $$ begin
		if new.name like 'gated%%' then
			perform pg_advisory_lock(%d);
			perform pg_advisory_unlock(%[1]d);
		end if;
		if new.name like 'gated and loud%%' then
			for i in 1 .. 64 loop raise notice '%%', repeat('x', 100000); end loop;
		end if;
		return new; end $$`, g.key))
	g.do(`create trigger gate before insert on projects for each row execute function gate()`)
	return g
}

func (g *gate) do(statement string) {
	g.t.Helper()
	if _, err := g.conn.ExecContext(g.t.Context(), statement); err != nil {
		g.t.Fatal(err)
	}
}

// freeze freezes a server within the transaction that act starts, while Postgres is in the state in which it then
// waits for the server.
func (g *gate) freeze(i *programtest.Server, state string, act func()) {
	g.t.Helper()
	g.do(fmt.Sprintf(`select pg_advisory_lock(%d)`, g.key))
	go act()
	var pid int
	i.Eventually("its transaction waits at the gate", func() bool {
		return g.conn.QueryRowContext(g.t.Context(),
			`select pid from pg_locks where locktype = 'advisory' and objid = $1 and not granted`, g.key).Scan(&pid) == nil
	})
	if err := i.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		g.t.Fatal(err)
	}
	g.do(fmt.Sprintf(`select pg_advisory_unlock(%d)`, g.key))
	i.Eventually("Postgres waits for the frozen server, which holds the head", func() bool {
		var waits, holds bool
		err := g.conn.QueryRowContext(g.t.Context(),
			`select exists (select 1 from pg_stat_activity where pid = $1 and state = $2 and wait_event_type = 'Client'),
			exists (select 1 from pg_locks where pid = $1 and relation = 'journal_head'::regclass and mode = 'RowShareLock')`,
			pid, state).Scan(&waits, &holds)
		if err == nil && waits && holds {
			g.caught++
		}
		return err == nil && (waits || !holds) // on a busy machine the check may run only after Postgres stopped waiting
	})
}
