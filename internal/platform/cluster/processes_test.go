//go:build cluster && linux

package cluster_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/process/shim"
	"harness/tests/dbtest"
	"harness/tests/disktest"
	"harness/tests/nettest"
	"harness/tests/programtest"
)

type object = programtest.Object

// graceOfNodes is HARNESS_NODE_GRACE_MS of the servers. After a node's last sign of life, what it ran must end within
// lease, grace, and two heartbeats to detect it; within twice that on a busy machine.
const (
	graceOfNodes = 2 * time.Second
	overWithin   = 2 * (leaseOfNodes + graceOfNodes + 4*time.Second)
	leaseOfNodes = 8 * time.Second
)

// trio is three servers on one Postgres, which forward requests to each other; only the first has an agent.
type trio struct {
	t          *testing.T
	db         *database.DB
	clocks     [3]*clock
	jobs       []string
	disk       *disktest.Disk // the disk of the first node's files, nil if the test cannot mount one
	siteA      *programtest.Site
	a, b, c    *programtest.Server
	ports      [3]*dbtest.Proxy                   // where others find the nodes
	replacing  sync.Mutex                         // held while a node is being replaced, or while clients look it up
	streams    map[string][]*programtest.Follower // the streams of a session, at the second and the third node, from its start
	chance     *rand.Rand
	violations []string
}

// newTrio starts a trio; without names the mechanism that a test disables, "" for none.
func newTrio(t *testing.T, grace time.Duration, without string) *trio {
	t.Helper()
	url := dbtest.URL(t, database.Postgres)
	return newTrioOn(t, grace, without, [3]string{url, url, url}, url)
}

// newTrioOn is newTrio with a separate route to the database for each server and the test.
func newTrioOn(t *testing.T, grace time.Duration, without string, urls [3]string, own string) *trio {
	t.Helper()
	return newTrioAt(t, grace, without, urls, own, [3]*nettest.Host{})
}

// newTrioAt is newTrioOn with each server on a machine of a network, if any.
func newTrioAt(t *testing.T, grace time.Duration, without string, urls [3]string, own string, hosts [3]*nettest.Host) *trio {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &trio{t: t, chance: seeded(t), streams: map[string][]*programtest.Follower{}}
	site := func(node int, more ...programtest.SiteOption) *programtest.Site {
		p.clocks[node] = newClock(t)
		env := []string{fmt.Sprintf("HARNESS_NODE_GRACE_MS=%d", grace.Milliseconds()), "HARNESS_TEST_WITHOUT=" + without,
			"HARNESS_TEST_CLOCK=" + p.clocks[node].path}
		if host := hosts[node]; host != nil {
			more, env = append(more, programtest.WithHost(host)), append(env, "HARNESS_NODE_ADDRESS="+host.Address()+":7443")
		} else {
			port := dbtest.FreeAddress(t, "127.0.0.1")
			p.ports[node] = dbtest.NewProxy(t, "tcp://"+port)
			env = append(env, "HARNESS_NODE_ADDRESS="+port, "HARNESS_TEST_ADVERTISED="+p.ports[node].Address())
		}
		made := programtest.New(t, append(more, programtest.WithDatabase(urls[node]), programtest.WithEnv(env...))...)
		made.Program = path
		return made
	}
	var files []programtest.SiteOption
	if asRoot(t) {
		p.disk = disktest.New(t, "32m")
		files = append(files, programtest.WithDataDir(filepath.Join(p.disk.Path, "data")))
	}
	p.siteA = site(0, files...)
	siteB, siteC := site(1, programtest.WithoutAgent()), site(2, programtest.WithoutAgent())
	p.db = dbtest.Connect(t, database.Options{URL: own})
	p.a, p.b, p.c = p.siteA.Start(), siteB.Start(), siteC.Start()
	p.eventually("is each node guarded", func() bool {
		return p.count(`select count(*) from nodes where guarded = 1`) == 3
	})
	return p
}

func (p *trio) endRuntimes() {
	found, err := shim.Discover(p.siteA.RunDir())
	if err != nil {
		p.t.Error(err)
	}
	for _, f := range found {
		_ = syscall.Kill(f.State.PID, syscall.SIGKILL) // its runtime dies with it
	}
}

func (p *trio) signal(server *programtest.Server, signal syscall.Signal) {
	p.t.Helper()
	if err := server.Cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}

// node returns the current server of a node.
func (p *trio) node(n int) *programtest.Server {
	p.replacing.Lock()
	defer p.replacing.Unlock()
	return []*programtest.Server{p.a, p.b, p.c}[n]
}

func (p *trio) violated(format string, args ...any) {
	p.violations = append(p.violations, fmt.Sprintf(format, args...))
}

// report fails the test for violations, and describes the first one.
func (p *trio) report() {
	p.t.Helper()
	for _, violation := range p.violations[:min(len(p.violations), 10)] {
		p.t.Errorf("%.1000s", violation)
	}
	if more := len(p.violations) - 10; more > 0 {
		p.t.Errorf("and %d more", more)
	}
}

func (p *trio) eventually(what string, ok func() bool) {
	p.t.Helper()
	over := time.After(hang)
	for !ok() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-over:
			p.t.Fatalf("never %s", what)
		}
	}
}

func (p *trio) count(query string, args ...any) (n int) {
	p.t.Helper()
	if err := p.db.Read().QueryRowContext(p.t.Context(), query, args...).Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// want repeats a request until the answer has the status, since a runtime may be starting.
func (p *trio) want(s *programtest.Server, status int, method, path string, body any) (answer object) {
	p.t.Helper()
	p.eventually(method+" "+path, func() bool {
		got, raw, err := s.Try(method, path, body)
		if err != nil || got != status {
			return false
		}
		return json.Unmarshal(raw, &answer) == nil
	})
	return answer
}

func (p *trio) session() string {
	p.t.Helper()
	answer := p.want(p.a, http.StatusOK, http.MethodPost, "/api/sessions", object{"approvalPolicy": "untrusted"})
	return answer["session"].(object)["sessionId"].(string)
}

func (p *trio) send(session, text string) string {
	p.t.Helper()
	answer := p.want(p.anyNode(), http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages", object{"text": text})
	return answer["turnId"].(string)
}

// write creates projects at the first node without a pause until it ends, by name.
func (p *trio) write(name string) (wait func()) {
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				_, _, err := p.a.Try(http.MethodPost, "/api/projects", object{"name": fmt.Sprintf("%s-%d-%d", name, w, i)})
				if err != nil {
					return
				}
			}
		})
	}
	return writers.Wait
}

func (p *trio) turn(turn string) (status string) {
	p.t.Helper()
	row := p.db.Read().QueryRowContext(p.t.Context(), `select status from turns where turn_id = $1`, turn)
	if err := row.Scan(&status); err != nil {
		p.t.Fatal(err)
	}
	return status
}

// runtimes returns the running shims of the first node.
func (p *trio) runtimes() (alive []shim.Found) {
	p.t.Helper()
	found, err := shim.Discover(p.siteA.RunDir())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range found {
		if f.Alive {
			alive = append(alive, f)
		}
	}
	return alive
}

// readJournal reads the whole journal, and checks that it is gap-free.
func (p *trio) readJournal(each func(journal.Record)) {
	p.t.Helper()
	log := journal.New(p.db, journal.Options{})
	seq, after := map[string]int64{}, int64(0)
	for {
		records, err := log.Read(p.t.Context(), journal.Query{After: after, Limit: 1000})
		if err != nil {
			p.t.Fatal(err)
		}
		if len(records) == 0 {
			return
		}
		for _, r := range records {
			if r.Pos != after+1 {
				p.violated("position %d comes after %d", r.Pos, after)
			}
			after = r.Pos
			if seq[r.SessionID]++; r.Seq != seq[r.SessionID] {
				p.violated("event %d is the %d. of its session, want %d", r.Pos, r.Seq, seq[r.SessionID])
			}
			each(r)
		}
	}
}

// checkJournal checks that no event of the first node's process follows after the node was ended.
func (p *trio) checkJournal(name string) {
	p.t.Helper()
	ended := false
	p.readJournal(func(r journal.Record) {
		switch {
		case r.Type == "node.ended":
			ended = true
		case ended && strings.Contains(string(r.Payload), `"`+name+"-"):
			p.violated("event %d is a write of the dead node: %s", r.Pos, r.Payload)
		}
	})
	if !ended {
		p.violated("the node was never ended")
	}
}

// pause freezes the first server in the middle of turns and writes until others have ended it, and then resumes it.
func (p *trio) pause() {
	p.t.Helper()
	held, asked := p.session(), p.session()
	running, waiting := p.send(held, "MOCK_HOLD[on]"), p.send(asked, "MOCK_CMD[echo granted]")
	p.eventually("is there an approval", func() bool {
		return p.count(`select count(*) from interactive_requests where status = 'pending'`) == 1
	})
	p.decide()
	old := p.runtimes()
	done := p.write("paused")
	p.eventually("are there writes", func() bool { return p.count(`select count(*) from projects`) > 20 })
	p.signal(p.a, syscall.SIGSTOP)
	began := time.Now()
	// It reads the requests that clients send in the meantime as soon as it resumes.
	answers := make(chan int, 8)
	for range cap(answers) {
		go func() {
			status, _, err := p.a.Try(http.MethodPost, "/api/sessions/"+held+"/interrupt", object{"turnId": running})
			if err != nil {
				status = 0
			}
			answers <- status
		}()
	}
	p.eventually("is the runtime frozen or gone", func() bool {
		return len(old) > 0 && (processState(old[0].State.RuntimePID) == "T" || processState(old[0].State.RuntimePID) == "")
	})
	if took := time.Since(began); took > overWithin {
		p.violated("the runtime went on for %s", took)
	}
	p.eventually("are the turns over", func() bool { return p.turn(running) == "interrupted" && p.turn(waiting) == "interrupted" })
	if took := time.Since(began); took > overWithin || took < leaseOfNodes-2*time.Second+graceOfNodes {
		p.violated("the turns were ended after %s", took)
	} else {
		p.t.Logf("the turns were ended after %s", took)
	}
	if n := p.count(`select count(*) from interactive_requests where status = 'pending'`); n != 0 {
		p.violated("%d requests wait still", n)
	}
	p.signal(p.a, syscall.SIGCONT)
	for range cap(answers) {
		// 0 is no answer. Anything else would belong to a turn that is over.
		if status := <-answers; status != 0 && status != http.StatusServiceUnavailable {
			p.violated("the woken node answered %d out of its memory", status)
		}
	}
	select {
	case <-p.a.Exited:
	case <-time.After(hang):
		p.t.Fatal("the woken server does not end")
	}
	p.a.Kill()
	done()
	p.checkJournal("paused")
	p.eventually("are its runtimes gone", func() bool { return len(p.runtimes()) == 0 })
}

// kill ends the first server, its shims and its runtimes at once, like the loss of the machine.
func (p *trio) kill() {
	p.t.Helper()
	turn := p.send(p.session(), "MOCK_HOLD[on]")
	p.decide()
	done := p.write("killed")
	p.a.Kill()
	p.endRuntimes()
	done()
	began := time.Now()
	p.eventually("is the turn over", func() bool { return p.turn(turn) == "interrupted" })
	if took := time.Since(began); took > overWithin {
		p.violated("the turn was ended after %s", took)
	}
	p.checkJournal("of no session")
	p.eventually("are its runtimes gone", func() bool { return len(p.runtimes()) == 0 })
}

// cut keeps the first server from renewing its lease, although it can read and write everything else, and repairs that
// within the grace. Until then it does nothing, and nothing is lost.
func (p *trio) cut() {
	p.t.Helper()
	session := p.session()
	turn := p.send(session, "MOCK_HOLD[on]")
	old := p.runtimes()
	node, err := os.ReadFile(p.siteA.DataDir + "/node-id")
	if err != nil {
		p.t.Fatal(err)
	}
	release, held := make(chan struct{}), make(chan error, 1)
	go func() {
		held <- p.db.Update(p.t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(p.t.Context(), `select 1 from nodes where node_id = $1 for update`,
				strings.TrimSpace(string(node)))
			for err == nil {
				select {
				case <-release:
					return nil
				case <-time.After(200 * time.Millisecond): // a connection that is silent for long is closed
					_, err = tx.ExecContext(p.t.Context(), `select 1`)
				}
			}
			return err
		})
	}()
	p.eventually("is the runtime frozen", func() bool { return len(old) > 0 && processState(old[0].State.RuntimePID) == "T" })
	answer := make(chan int, 1)
	go func() {
		status, _, err := p.a.Try(http.MethodPost, "/api/sessions/"+session+"/interrupt", object{"turnId": turn})
		if err != nil {
			status = 0
		}
		answer <- status
	}()
	select {
	case status := <-answer:
		if status != http.StatusServiceUnavailable {
			p.violated("a node that cannot renew its lease answered %d", status)
		}
	case <-time.After(10 * time.Second):
		p.violated("a node that cannot renew its lease went to its runtime")
	}
	close(release)
	if err := <-held; err != nil {
		p.t.Fatal(err)
	}
	p.eventually("does the runtime go on", func() bool { return processState(old[0].State.RuntimePID) != "T" })
	p.siteA.Model.Release("on")
	p.eventually("does the turn end", func() bool { return p.turn(turn) != "inProgress" })
	if status := p.turn(turn); status != "completed" {
		p.violated("the turn is %s", status)
	}
}

func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, found := strings.Cut(string(stat), ") ")
	if err != nil || !found {
		return ""
	}
	return after[:1]
}

// A node that is killed, or paused and later resumed, costs its running turns and nothing else. It sends and writes
// nothing after others have ended it, and returns.
func TestANodeIsKilledOrPaused(t *testing.T) {
	for name, fault := range map[string]func(*trio){"pause": (*trio).pause, "kill": (*trio).kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTrio(t, graceOfNodes, "")
			fault(p)
			p.a = p.siteA.Start()
			session := p.session()
			turn := p.send(session, "MOCK_REPLY[back again]")
			p.eventually("does a turn end", func() bool { return p.turn(turn) == "completed" })
			p.checkStreams()
			p.report()
		})
	}
}

// A node that loses access to its lease, and regains it within the grace, continues where it was.
func TestANodeIsCutOff(t *testing.T) {
	t.Parallel()
	p := newTrio(t, time.Minute, "")
	p.cut()
	p.report()
}

// A server that is killed and restarts within the grace continues its turn: no other node has ended it.
func TestAServerThatComesBackInTimeKeepsItsTurns(t *testing.T) {
	t.Parallel()
	p := newTrio(t, graceOfNodes, "")
	turn := p.send(p.session(), "MOCK_HOLD[on]")
	if err := p.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	p.a.Kill()
	p.a = p.siteA.Start()
	p.siteA.Model.Release("on")
	p.eventually("does the turn end", func() bool { return p.turn(turn) != "inProgress" })
	if status := p.turn(turn); status != "completed" {
		t.Errorf("the turn is %s", status)
	}
}

// If a mechanism is disabled, the tests fail.
func TestEachMechanismIsMissed(t *testing.T) {
	for mechanism, fault := range map[string]func(t *testing.T) *trio{
		"fence": func(t *testing.T) *trio {
			p := newTrio(t, graceOfNodes, "fence")
			p.pause()
			return p
		},
		"sure-lease": func(t *testing.T) *trio {
			p := newTrio(t, time.Minute, "sure-lease")
			p.cut()
			return p
		},
		"barrier": func(t *testing.T) *trio {
			p := newStandbyTrio(t, "barrier")
			p.cutOff()
			p.check(p.wrote)
			return p.trio
		},
	} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			p := fault(t)
			if len(p.violations) == 0 {
				t.Error("nothing was found")
			}
			for _, violation := range p.violations[:min(len(p.violations), 3)] {
				t.Logf("found: %.300s", violation)
			}
		})
	}
}
