package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"harness/database"
	"harness/internal/dbtest"
	"harness/internal/disktest"
	"harness/internal/mockmodel"
)

// outage makes the store of a running server refuse, and makes it well again.
type outage struct {
	name         string
	refuse, mend func(*instance)
}

// outages are a site's whose store can refuse, and the ways it can. The first of them is also there when the server is
// not. size is the disk's.
func outages(t *testing.T, engine database.Engine, size string) (*site, []outage) {
	wait, detect := withEnv("HARNESS_STORE_WAIT_MS=300"), withRaceDetector()
	if engine == database.SQLite {
		disk := disktest.New(t, size)
		s := newSite(t, wait, detect)
		s.dataDir = filepath.Join(disk.Path, "data")
		s.env = append(s.env, "DATA_DIR="+s.dataDir)
		full := outage{"the disk is full", func(*instance) { disk.Fill() }, func(*instance) { disk.Free() }}
		// The kernel refuses the server's writes, which is an I/O error to SQLite.
		broken := outage{"I/O error", func(i *instance) { i.limitWrites(1 << 10) }, func(i *instance) {
			i.limitWrites(unix.RLIM_INFINITY)
		}}
		return s, []outage{full, broken}
	}
	role := dbtest.NewRole(t)
	proxy := dbtest.NewProxy(t, role.URL)
	onRole := func(name, refuse, mend string) outage {
		set := func(change string) func(*instance) {
			return func(*instance) {
				role.Set(change)
				role.Disconnect()
			}
		}
		return outage{name, set(refuse), set(mend)}
	}
	full := outage{"53100", func(*instance) {
		role.Do(`create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'no ` +
			`space' using errcode = '53100'; end $$`)
		role.Do(`create trigger refuse before insert on journal_events for each statement execute function refuse()`)
	}, func(*instance) { role.Do(`drop trigger refuse on journal_events`) }}
	var unlock func()
	locked := outage{"55P03", func(*instance) { unlock = role.Lock(`select pos from journal_head for update`) },
		func(*instance) { unlock() }}
	timedOut := onRole("57014", "set statement_timeout = 200", "reset statement_timeout")
	slow, quick := timedOut.refuse, timedOut.mend
	timedOut.refuse = func(i *instance) {
		role.Do(`create or replace function dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return null; end $$`)
		role.Do(`create trigger dawdle before insert on journal_events for each statement execute function dawdle()`)
		slow(i)
	}
	timedOut.mend = func(i *instance) {
		role.Do(`drop trigger dawdle on journal_events`)
		quick(i)
	}
	return newSite(t, wait, detect, func(o *siteOptions) { o.databaseURL = proxy.URL }), []outage{
		onRole("25006", "set default_transaction_read_only = on", "reset default_transaction_read_only"),
		full, {"connection lost", func(*instance) { proxy.Cut() }, func(*instance) { proxy.Mend() }}, locked,
		onRole("53300", "connection limit 0", "connection limit -1"), timedOut,
	}
}

// outageRounds is how many turns run on each engine, of which each has every outage at another of its points; as many
// as there are outages try each of them at every point.
const outageRounds = "HARNESS_OUTAGE_ROUNDS"

// outageTurn asks twice, with a command in between that takes until the file gate is there, and then writes tokens
// until end is released.
func outageTurn(gate, ran string) string {
	return fmt.Sprintf(
		"MOCK_CMD[until [ -e %s ]; do sleep 0.02; done; echo one >> %s] MOCK_CMD[echo two >> %s] MOCK_SLOW[100,20] MOCK_HOLD[end]",
		gate, ran, ran)
}

// A store that refuses at any point of a turn, in any way, leaves no trace in it: what the runtime says meanwhile is
// held, and stored in order and once; no approval is lost and none can be decided that is dead; requests that write are
// told to come again; the server says what is the matter, and goes on by itself when the store does.
func TestAnOutageOfTheStoreLeavesNoTrace(t *testing.T) {
	t.Parallel()
	refused := map[string]func(*testing.T) outcome{}
	for _, engine := range dbtest.Engines() {
		least := map[database.Engine]int{database.SQLite: 2, database.Postgres: 1}[engine]
		for round := range number(t, outageRounds, least) {
			refused[fmt.Sprintf("%s from %d", engine, round)] = func(t *testing.T) outcome {
				s, all := outages(t, engine, "24m")
				return s.outlive(func(point int) outage { return all[(point+round)%len(all)] })
			}
		}
	}
	requireNoTrace(t, func(t *testing.T) outcome { return newSite(t).outlive(nil) }, refused)
}

// outlive runs the turn with an outage at each of its points, none without any, and returns its transcript and its
// frames.
func (s *site) outlive(outages func(point int) outage) outcome {
	t := s.t
	t.Helper()
	gate, ran := filepath.Join(s.workspace, "gate"), filepath.Join(s.workspace, "ran.txt")
	server := s.start()
	session, other := server.createSession(object{"approvalPolicy": "untrusted"}), server.createSession(
		object{"approvalPolicy": "untrusted"})
	events := server.follow("threadId=" + session)
	path := "/api/sessions/" + session
	during := func(n int, do func()) {
		t.Helper()
		if outages == nil {
			do()
			return
		}
		o := outages(n)
		o.refuse(server)
		server.awaitOutage(other)
		do()
		server.refused(path+"/messages", object{"text": "MOCK_REPLY[not said]"})
		server.eventually(o.name+": the server says that it is not ready", server.tellsOutage)
		o.mend(server)
		server.awaitRuntime()
	}

	during(0, func() {}) // before the turn
	turn := server.send(session, outageTurn(gate, ran))
	first := text(events.waitType("approval").payload(), "approvalId")
	if outages != nil {
		// while it waits to be decided
		during(1, func() { server.refused("/api/approvals/"+first+"/decision", object{"decision": "accept"}) })
	}
	server.decide(first)
	during(2, func() { // after it, and before the next
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.model.WaitOutput(t.Context(), func(mockmodel.Output) bool { return true }); err != nil {
			t.Fatal(err)
		}
	})
	server.decide(text(events.waitType("approval").payload(), "approvalId"))
	events.wait("a token", func(f frame) bool { return text(f.payload(), "method") == agentDelta })
	during(3, func() { // in the middle of a text, until the turn is over
		if err := s.model.WaitHeld(t.Context(), "end"); err != nil {
			t.Fatal(err)
		}
		s.model.Release("end")
	})
	if status := events.waitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	if outages != nil {
		server.expireInOutage(other, outages(4))
	}
	entries := s.plain(server.transcript(session))
	server.stop()
	s.requireNoOrphans()
	if said, err := os.ReadFile(ran); err != nil || string(said) != "one\ntwo\n" {
		t.Errorf("the commands ran as %q, %v", said, err)
	}
	s.foldJournal(session) // gap-free
	return outcome{entries, s.frames(session)}
}

// expireInOutage kills the runtime while an approval waits and the store refuses: the approval can be decided neither
// then nor afterwards, when its end is stored.
func (i *instance) expireInOutage(session string, o outage) {
	i.t.Helper()
	events := i.follow("threadId=" + session)
	turn := i.send(session, "MOCK_CMD[touch never]")
	approval := "/api/approvals/" + text(events.waitType("approval").payload(), "approvalId") + "/decision"
	o.refuse(i)
	i.awaitOutage(session)
	if err := syscall.Kill(i.runtimePID(), syscall.SIGKILL); err != nil {
		i.t.Fatal(err)
	}
	i.refused(approval, object{"decision": "accept"})
	o.mend(i)
	if status := events.waitTurn(turn); status != "interrupted" {
		i.t.Errorf("the turn ended %s", status)
	}
	i.want(http.StatusNotFound, http.MethodPost, approval, object{"decision": "accept"})
	if left := i.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any); len(
		left) != 0 {
		i.t.Errorf("approvals are left: %v", left)
	}
	i.waitRuntime()
}

// awaitOutage writes until the store refuses: a database has room of its own on a full disk.
func (i *instance) awaitOutage(session string) {
	i.t.Helper()
	content := strings.Repeat("filling ", 8<<10)
	n := 0
	i.eventually("the store refuses", func() bool {
		n++
		status, _, err := i.try(http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", object{
			"messageId": fmt.Sprint("filling-", n), "turnId": "filling", "role": "assistant", "type": "agentMessage",
			"status": "complete", "content": content})
		if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
			i.t.Fatalf("an upsert was answered %d, %v", status, err)
		}
		return status == http.StatusServiceUnavailable
	})
}

// limitWrites has the kernel refuse writes of the server beyond a file size.
func (i *instance) limitWrites(size uint64) {
	i.t.Helper()
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(i.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		i.t.Fatal(err)
	}
}

// refused posts what has to be refused for the store's sake.
func (i *instance) refused(path string, body any) {
	i.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		i.t.Fatal(err)
	}
	response, err := i.client().Post(i.url+path, "application/json",
		bytes.NewReader(encoded)) //nolint:noctx // the test's deadline is enough
	if err != nil {
		i.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(raw), "store_unavailable") {
		i.t.Errorf("%s was answered %d, Retry-After %q, %s, %v", path, response.StatusCode,
			response.Header.Get("Retry-After"), raw, err)
	}
}

// tellsOutage asks health, readiness and the metrics.
func (i *instance) tellsOutage() bool {
	i.t.Helper()
	ready, why := i.call(http.MethodGet, "/api/ready", nil)
	_, health := i.call(http.MethodGet, "/api/health", nil)
	_, metrics, err := i.try(http.MethodGet, "/metrics", nil)
	if err != nil {
		i.t.Fatal(err)
	}
	engine := database.SQLite
	if i.databaseURL != "" {
		engine = database.Postgres
	}
	gauge := fmt.Sprintf("harness_database_refusing_writes_since_timestamp_seconds{engine=%q} ", engine)
	return ready == http.StatusServiceUnavailable && strings.Contains(text(why, "reason"), fmt.Sprint(engine)) &&
		health["status"] == "degraded" &&
		text(health, "store", "engine") == string(engine) && text(health, "store", "since") != "" &&
		text(health, "store", "reason") != "" &&
		strings.Contains(string(metrics), gauge+"1.")
}

// A network that swallows what is said to Postgres and tells nobody: requests that write are told to come again and the
// server that it is not ready; what the runtime says meanwhile is stored in order and once when another connection gets
// through, although none of before ever does.
func TestANetworkThatSwallowsPackets(t *testing.T) {
	t.Parallel()
	proxy := dbtest.NewProxy(t, dbtest.NewRole(t).URL)
	s := newSite(t, withEnv("HARNESS_STORE_WAIT_MS=300"), func(o *siteOptions) { o.databaseURL = proxy.URL })
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_SLOW[100,20] MOCK_HOLD[end]")
	events.wait("a token", func(f frame) bool { return text(f.payload(), "method") == agentDelta })
	proxy.Swallow()
	began := time.Now()
	server.refused("/api/sessions/"+session+"/transcript/upsert", object{
		"messageId": "m", "turnId": turn, "role": "system", "type": "note", "status": "complete", "content": "not stored"})
	t.Logf("refused after %s", time.Since(began))
	server.eventually("the server says that it is not ready", server.tellsOutage)
	if err := s.model.WaitHeld(t.Context(), "end"); err != nil {
		t.Fatal(err)
	}
	s.model.Release("end")
	proxy.Mend()
	if status := events.waitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	var want strings.Builder
	for n := range 100 {
		fmt.Fprintf(&want, "word%d ", n)
	}
	server.eventually("reads have connections again, too", func() bool {
		status, _ := server.call(http.MethodGet, "/api/sessions/"+session, nil)
		return status == http.StatusOK
	})
	var said []string
	for _, entry := range server.transcript(session) {
		if text(entry, "type") == "agentMessage" { // the upsert that was told to come again may have been stored later
			said = append(said, text(entry, "content"))
		}
	}
	if !slices.Equal(said, []string{want.String() + "released end"}) {
		t.Errorf("the transcript is %q", said)
	}
	server.stop()
	s.foldJournal(session) // gap-free
	s.requireNoOrphans()
}
