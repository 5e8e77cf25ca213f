//go:build cluster && linux

package cluster_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// standbyTrio is three servers on a Postgres with a synchronous standby. The first two name both database servers in
// their DATABASE_URL. The third has one address, which is directed to the current or next primary.
type standbyTrio struct {
	*trio
	pair    *dbtest.Pair
	ways    [2]*dbtest.Way
	address *dbtest.Proxy
	// wires are all connections between them.
	wires wires
	// held is a session whose turn runs until the model is released; asked is one that waits for an approval.
	held, asked string
	running     string
	waiting     string
	wrote       *ledger
}

// newStandbyTrio starts turns, an approval, queued jobs and clients that write and read at all nodes. All connections
// go through proxies.
func newStandbyTrio(t *testing.T, without string) *standbyTrio {
	t.Helper()
	pair := dbtest.NewPair(t)
	p := &standbyTrio{pair: pair, ways: [2]*dbtest.Way{pair.Way(), pair.Way()}, address: dbtest.NewProxy(t, pair.URL(pair.Primary()))}
	p.trio = newTrioOn(t, time.Minute, without, [3]string{p.ways[0].URL, p.ways[1].URL, p.address.URL}, pair.Way().URL)
	p.wires = proxies{p}
	return p.begin()
}

func (p *standbyTrio) begin() *standbyTrio {
	p.t.Helper()
	p.decide()
	p.held, p.asked = p.session(), p.session()
	for _, session := range []string{p.held, p.asked} {
		query := "threadId=" + session + "&after=0"
		p.streams[session] = []*programtest.Follower{p.b.Follow(query), p.c.Follow(query)}
	}
	p.running = p.send(p.held, "MOCK_HOLD[on]")
	if err := p.siteA.Model.WaitHeld(p.t.Context(), "on"); err != nil {
		p.t.Fatal(err)
	}
	p.waiting = p.send(p.asked, "MOCK_CMD[echo granted]")
	p.eventually("is there an approval", func() bool {
		return p.count(`select count(*) from interactive_requests where status = 'pending'`) == 1
	})
	p.wrote = p.keepWriting()
	p.awaitAll(p.wrote, time.Time{}, 0, 1, 2)
	return p
}

// takesNoWrites reports whether a server reports that its database refuses writes.
func takesNoWrites(s *programtest.Server) bool {
	status, raw, err := s.Try(http.MethodGet, "/api/health", nil)
	var health struct{ Store *struct{ State string } }
	return err == nil && status == http.StatusOK && json.Unmarshal(raw, &health) == nil && health.Store != nil
}

// failOver kills the primary, promotes its standby, and adds a new standby. The third server's address leads to the
// standby before that.
func (p *standbyTrio) failOver() {
	p.t.Helper()
	began := time.Now()
	lost := p.pair.Primary()
	p.wires.lose(lost)
	p.wires.lead(p.pair.Standby())
	p.eventually("does the third node say that its database takes no writes", func() bool { return takesNoWrites(p.c) })
	p.want(p.c, http.StatusOK, http.MethodGet, "/api/sessions/"+p.held, nil) // a standby accepts reads
	p.pair.Promote()
	promoted := time.Now()
	p.t.Logf("promoted %s after the primary was killed; the first writes are acknowledged %v after that",
		promoted.Sub(began).Round(time.Millisecond), p.awaitAll(p.wrote, promoted, 0, 1, 2))
	p.wires.restore(lost)
	p.pair.Follow()
	inSync := time.Now()
	p.t.Logf("a new standby is in sync %s after the primary was killed", inSync.Sub(began).Round(time.Millisecond))
	p.awaitAll(p.wrote, inSync, 0, 1, 2)
}

// goOn finishes everything that was in progress, and checks all of it.
func (p *standbyTrio) goOn() {
	p.t.Helper()
	var id string
	if err := p.db.Read().QueryRowContext(p.t.Context(), `select id from interactive_requests where status = 'pending'`).
		Scan(&id); err != nil {
		p.t.Fatal(err)
	}
	p.want(p.anyNode(), http.StatusOK, http.MethodPost, "/api/approvals/"+id+"/decision", object{"decision": "accept"})
	p.siteA.Model.Release("on")
	for _, turn := range []string{p.running, p.waiting} {
		p.eventually("does a turn that ran through it end", func() bool { return p.turn(turn) != "inProgress" })
		if status := p.turn(turn); status != "completed" {
			p.violated("a turn that ran through it is %s", status)
		}
	}
	turn := p.send(p.held, "MOCK_REPLY[still here]")
	p.eventually("does a session answer", func() bool { return p.turn(turn) != "inProgress" })
	if status := p.turn(turn); status != "completed" {
		p.violated("the turn of a session that was there before is %s", status)
	}
	p.decide()
	p.awaitJobs()
	p.check(p.wrote)
	p.checkJobs()
	p.checkStreams()
	for _, server := range []*programtest.Server{p.a, p.b, p.c} {
		server.Stop()
	}
	p.eventually("are its runtimes gone", func() bool { return len(p.runtimes()) == 0 })
}

// The loss of the primary costs no acknowledged write and no turn: servers wait for the standby to replace it, and
// continue.
func TestTheDatabaseFailsOver(t *testing.T) {
	t.Parallel()
	p := newStandbyTrio(t, "")
	p.enqueue()
	values := p.useRegisters(p.a, p.b)
	for range 2 {
		p.failOver()
		p.enqueue()
	}
	p.checkRegisters(values)
	p.goOn()
	p.report()
}

// cutOff promotes the standby while the isolated primary keeps running with the first server. That primary acknowledges
// nothing, and the server becomes silent before its lease is over.
func (p *standbyTrio) cutOff() {
	p.t.Helper()
	old, next := p.pair.Primary(), p.pair.Standby()
	p.pair.Isolate()
	p.ways[0].Link(next).Cut()
	p.ways[1].Link(old).Cut()
	if err := p.address.Lead(p.pair.URL(next)); err != nil {
		p.t.Fatal(err)
	}
	began := time.Now()
	runtimes := p.runtimes()
	p.pair.Promote()
	p.t.Logf("the nodes led to the new primary write %v after the old one was cut off", p.awaitAll(p.wrote, began, 1, 2))
	shown := p.readEvents(p.a)
	p.breakOff(old)
	p.eventually("is the runtime frozen", func() bool {
		return len(runtimes) > 0 && processState(runtimes[0].State.RuntimePID) == "T"
	})
	p.t.Logf("the runtime of the node at the old primary is frozen after %s", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began); took > overWithin {
		p.violated("the runtime went on for %s", took)
	}
	answer := make(chan int, 1)
	go func() {
		status, _, err := p.a.Try(http.MethodPost, "/api/sessions/"+p.held+"/interrupt", object{"turnId": p.running})
		if err != nil {
			status = 0
		}
		answer <- status
	}()
	select {
	case status := <-answer:
		if status != http.StatusServiceUnavailable {
			p.violated("a node at a primary that was cut off answered %d", status)
		}
	case <-time.After(10 * time.Second):
		p.violated("a node at a primary that was cut off went to its runtime")
	}
	if n := p.wrote.since(0, began.Add(time.Second)); n > 0 {
		p.violated("%d writes were acknowledged at the primary that was cut off", n)
	}
	p.pair.Kill(old)
	p.ways[0].Link(next).Mend()
	found := time.Now()
	p.t.Logf("the node at the old primary writes %v after that is gone", p.awaitAll(p.wrote, found, 0))
	p.checkShown(shown())
	p.pair.Follow()
	p.ways[1].Link(old).Mend()
}

// breakOff stops commits at an isolated primary from waiting for the standby: they become permanently visible there.
func (p *standbyTrio) breakOff(old int) {
	p.t.Helper()
	zombie := dbtest.Connect(p.t, database.Options{URL: p.pair.URL(old)})
	broken := 0
	p.eventually("do commits wait for the standby", func() bool {
		const breakOff = `select count(*) from (select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep') as broken`
		var n int
		if err := zombie.Read().QueryRowContext(p.t.Context(), breakOff).Scan(&n); err != nil {
			p.t.Fatal(err)
		}
		broken += n
		return broken > 20
	})
}

// An isolated primary has no effect: it acknowledges nothing, and rows that only it has are not shown.
func TestACutOffPrimaryAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	p := newStandbyTrio(t, "")
	p.enqueue()
	values := p.useRegisters(p.b, p.c)
	p.cutOff()
	p.checkRegisters(values)
	p.goOn()
	p.report()
}
