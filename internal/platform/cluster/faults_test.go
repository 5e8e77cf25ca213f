//go:build cluster && linux

package cluster_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// A killed shim costs its turn, and nothing else. The turn ends for every node, its session continues with the next
// message, and nothing remains of its runtime.
func TestAShimIsKilled(t *testing.T) {
	t.Parallel()
	p := newTrio(t, time.Minute, "")
	values := p.useRegisters(p.a, p.b, p.c)
	session := p.session()
	turn := p.send(session, "MOCK_HOLD[on]")
	if err := p.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	old := p.runtimes()
	for _, one := range old {
		if err := syscall.Kill(one.State.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("is the turn over", func() bool { return p.turn(turn) == "interrupted" })
	for _, one := range old {
		p.eventually("is its runtime gone", func() bool { return processState(one.State.RuntimePID) == "" })
	}
	p.siteA.Model.Release("on")
	next := p.send(session, "MOCK_REPLY[still here]")
	p.eventually("does the next turn end", func() bool { return p.turn(next) == "completed" })
	p.decide()
	p.checkStreams()
	p.checkRegisters(values)
	p.report()
}

// A network that silently drops all packets between a node and the database, in one or both directions, freezes what
// the node runs. If it is repaired within the grace, all of it continues, and nothing acknowledged is lost.
func TestTheWayToTheDatabaseSwallowsEverything(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]dbtest.Direction{"both": dbtest.Both, "to it": dbtest.ToServer, "from it": dbtest.ToClient} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theWaySwallows(t, what)
		})
	}
}

func theWaySwallows(t *testing.T, what dbtest.Direction) {
	url := dbtest.URL(t, database.Postgres)
	way := dbtest.NewProxy(t, url)
	p := newTrioOn(t, time.Minute, "", [3]string{way.URL, url, url}, url)
	wrote := p.keepWriting()
	values := p.useRegisters(p.b, p.c)
	turn := p.send(p.session(), "MOCK_HOLD[on]")
	if err := p.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	old := p.runtimes()
	began := time.Now()
	way.Swallow(what)
	p.eventually("is the runtime frozen", func() bool { return len(old) > 0 && processState(old[0].State.RuntimePID) == "T" })
	if took := time.Since(began); took > overWithin {
		p.violated("the runtime went on for %s", took)
	}
	way.Mend()
	mended := time.Now()
	p.eventually("does the runtime go on", func() bool { return processState(old[0].State.RuntimePID) != "T" })
	p.t.Logf("the runtime was frozen after %s, and goes on %s after the network does", mended.Sub(began).Round(time.Millisecond),
		time.Since(mended).Round(time.Millisecond))
	p.siteA.Model.Release("on")
	p.eventually("does the turn end", func() bool { return p.turn(turn) != "inProgress" })
	if status := p.turn(turn); status != "completed" {
		p.violated("the turn is %s", status)
	}
	p.awaitAll(wrote, time.Now(), 0, 1, 2)
	p.checkRegisters(values)
	p.check(wrote)
	p.report()
}

// A server is replaced by one of another version within the grace, while the others continue: its turn continues, and
// nothing is lost. A server that does not support the store's schema is refused, without effect on the others.
func TestServersOfTwoVersionsShareAStore(t *testing.T) {
	t.Parallel()
	other, err := earlier()
	if err != nil {
		t.Fatal(err)
	}
	const keep = "HARNESS_KEEP_RUNTIMES=true"
	p := newTrio(t, time.Minute, "")
	p.a.Stop()
	p.a = p.siteA.Start(keep)
	wrote := p.keepWriting()
	values := p.useRegisters(p.b, p.c)
	turn := p.send(p.session(), "MOCK_HOLD[on]")
	if err := p.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	for _, binary := range []string{other, p.siteA.Program} {
		p.a.Stop()
		p.a = p.siteA.StartBinary(binary, keep)
	}
	p.a.Stop()
	p.schema(`insert into goose_db_version (version_id, is_applied) values (9999, true)`)
	refused := p.siteA.Launch(other)
	select {
	case <-refused.Exited:
	case <-time.After(hang):
		t.Fatal("a server that does not know the schema goes on")
	}
	if said := refused.LogTail(); !strings.Contains(said, "9999") || !strings.Contains(said, "newer") {
		t.Errorf("the refusal is %s", said)
	}
	p.awaitAll(wrote, time.Now(), 1, 2)
	p.schema(`delete from goose_db_version where version_id = 9999`)
	p.a = p.siteA.Start()
	p.siteA.Model.Release("on")
	p.eventually("does the turn end", func() bool { return p.turn(turn) != "inProgress" })
	if status := p.turn(turn); status != "completed" {
		p.violated("the turn is %s", status)
	}
	p.want(p.anyNode(), http.StatusOK, http.MethodGet, "/api/sessions", nil)
	p.checkRegisters(values)
	p.check(wrote)
	p.report()
}

func (p *trio) schema(statement string) {
	p.t.Helper()
	if err := p.db.Update(p.t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(p.t.Context(), statement)
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
}
