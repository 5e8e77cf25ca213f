package crashes

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
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/disktest"
	"harness/tests/mockmodel"
	"harness/tests/programtest"
)

// outage makes the store of a running server refuse, and repairs it.
type outage struct {
	name         string
	refuse, mend func(*programtest.Server)
}

// outages makes a site with a store that can refuse, and returns the ways to make it refuse. The first way also works
// while no server runs. size is the size of the disk.
func outages(t *testing.T, engine database.Engine, size string) (*programtest.Site, []outage) {
	wait, detect := programtest.WithEnv("HARNESS_LIMITS=store-wait-ms=300"), programtest.WithRaceDetector()
	if engine == database.SQLite {
		disk := disktest.New(t, size)
		s := programtest.New(t, wait, detect)
		s.DataDir = filepath.Join(disk.Path, "data")
		s.Env = append(s.Env, "DATA_DIR="+s.DataDir)
		full := outage{"the disk is full", func(*programtest.Server) { disk.Fill() }, func(*programtest.Server) { disk.Free() }}
		// The kernel refuses the server's writes, which is an I/O error to SQLite.
		broken := outage{"I/O error", func(i *programtest.Server) { limitWrites(i, 1<<10) }, func(i *programtest.Server) {
			limitWrites(i, unix.RLIM_INFINITY)
		}}
		return s, []outage{full, broken}
	}
	role := dbtest.NewRole(t)
	proxy := dbtest.NewProxy(t, role.URL)
	onRole := func(name, refuse, mend string) outage {
		set := func(change string) func(*programtest.Server) {
			return func(*programtest.Server) {
				role.Set(change)
				role.Disconnect()
			}
		}
		return outage{name, set(refuse), set(mend)}
	}
	full := outage{"53100", func(*programtest.Server) {
		role.Do(`create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'no ` +
			`space' using errcode = '53100'; end $$`)
		role.Do(`create trigger refuse before insert on journal_events for each statement execute function refuse()`)
	}, func(*programtest.Server) { role.Do(`drop trigger refuse on journal_events`) }}
	var unlock func()
	locked := outage{"55P03", func(*programtest.Server) { unlock = role.Lock(`select pos from journal_head for update`) },
		func(*programtest.Server) { unlock() }}
	timedOut := onRole("57014", "set statement_timeout = 200", "reset statement_timeout")
	slow, quick := timedOut.refuse, timedOut.mend
	timedOut.refuse = func(i *programtest.Server) {
		role.Do(`create or replace function dawdle() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return null; end $$`)
		role.Do(`create trigger dawdle before insert on journal_events for each statement execute function dawdle()`)
		slow(i)
	}
	timedOut.mend = func(i *programtest.Server) {
		role.Do(`drop trigger dawdle on journal_events`)
		quick(i)
	}
	return programtest.New(t, wait, detect, programtest.WithDatabase(proxy.URL)), []outage{
		onRole("25006", "set default_transaction_read_only = on", "reset default_transaction_read_only"),
		full, {"connection lost", func(*programtest.Server) { proxy.Cut() }, func(*programtest.Server) { proxy.Mend() }}, locked,
		onRole("53300", "connection limit 0", "connection limit -1"), timedOut,
	}
}

// outageRounds is how many turns run on each engine. In each turn, every outage happens at a different point. As many
// turns as there are outages cover every outage at every point.
const outageRounds = "HARNESS_OUTAGE_ROUNDS"

// outageTurn returns a turn that asks twice, with a command in between that waits for the file gate, and then writes
// tokens until end is released.
func outageTurn(gate, ran string) string {
	return fmt.Sprintf(
		"MOCK_CMD[until [ -e %s ]; do sleep 0.02; done; echo one >> %s] MOCK_CMD[echo two >> %s] MOCK_SLOW[100,20] MOCK_HOLD[end]",
		gate, ran, ran)
}

// A store that refuses at any point of a turn, in any way, leaves no trace in it. The server holds the runtime's
// output during the outage and stores it in order and once. No approval is lost, and no expired one can be decided.
// Requests that write are asked to retry. The server reports the cause, and recovers by itself when the store does.
func TestAnOutageOfTheStoreLeavesNoTrace(t *testing.T) {
	t.Parallel()
	refused := map[string]func(*testing.T) outcome{}
	for _, engine := range dbtest.Engines() {
		least := map[database.Engine]int{database.SQLite: 2, database.Postgres: 1}[engine]
		for round := range number(t, outageRounds, least) {
			refused[fmt.Sprintf("%s from %d", engine, round)] = func(t *testing.T) outcome {
				s, all := outages(t, engine, "24m")
				return outlive(s, func(point int) outage { return all[(point+round)%len(all)] })
			}
		}
	}
	requireNoTrace(t, func(t *testing.T) outcome { return outlive(programtest.New(t), nil) }, refused)
}

// outlive runs the turn with an outage at each of its points (none in the reference run), and returns its transcript
// and its frames.
func outlive(s *programtest.Site, outages func(point int) outage) outcome {
	t := s.T
	t.Helper()
	gate, ran := filepath.Join(s.Workspace, "gate"), filepath.Join(s.Workspace, "ran.txt")
	server := s.Start()
	session, other := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"}), server.CreateSession(
		programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	path := "/api/sessions/" + session
	during := func(n int, do func()) {
		t.Helper()
		if outages == nil {
			do()
			return
		}
		o := outages(n)
		o.refuse(server)
		awaitOutage(server, other)
		do()
		refused(server, path+"/messages", programtest.Object{"text": "MOCK_REPLY[not said]"})
		server.Eventually(o.name+": the server says that it is not ready", func() bool { return reportsOutage(server) })
		o.mend(server)
		server.AwaitRuntime()
	}

	during(0, func() {}) // before the turn
	turn := server.Send(session, outageTurn(gate, ran))
	first := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
	if outages != nil {
		// during the wait for its decision
		during(1, func() { refused(server, "/api/approvals/"+first+"/decision", programtest.Object{"decision": "accept"}) })
	}
	server.Decide(first)
	during(2, func() { // after it and before the next
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Model.WaitOutput(t.Context(), func(mockmodel.Output) bool { return true }); err != nil {
			t.Fatal(err)
		}
	})
	server.Decide(programtest.Text(events.WaitType("approval").Decoded(), "approvalId"))
	events.Wait("a token", func(f programtest.Frame) bool {
		return programtest.Text(f.Decoded(), "method") == programtest.AgentDelta
	})
	during(3, func() { // in the middle of a text, until the turn ends
		if err := s.Model.WaitHeld(t.Context(), "end"); err != nil {
			t.Fatal(err)
		}
		s.Model.Release("end")
	})
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	if outages != nil {
		expireInOutage(server, other, outages(4))
	}
	entries := entryLines(s, server.Transcript(session))
	server.Stop()
	s.RequireNoOrphans()
	if said, err := os.ReadFile(ran); err != nil || string(said) != "one\ntwo\n" {
		t.Errorf("the commands ran as %q, %v", said, err)
	}
	s.FoldJournal(session) // no gaps
	return outcome{entries, frames(s, session)}
}

// expireInOutage kills the runtime while an approval waits and the store refuses. The approval cannot be decided
// then, or later when its end is stored.
func expireInOutage(i *programtest.Server, session string, o outage) {
	i.T.Helper()
	events := i.Follow("threadId=" + session)
	turn := i.Send(session, "MOCK_CMD[touch never]")
	approval := "/api/approvals/" + programtest.Text(events.WaitType("approval").Decoded(), "approvalId") + "/decision"
	o.refuse(i)
	awaitOutage(i, session)
	i.KillRuntime()
	refused(i, approval, programtest.Object{"decision": "accept"})
	o.mend(i)
	if status := events.WaitTurn(turn); status != "interrupted" {
		i.T.Errorf("the turn ended %s", status)
	}
	i.Want(http.StatusNotFound, http.MethodPost, approval, programtest.Object{"decision": "accept"})
	if left := i.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any); len(
		left) != 0 {
		i.T.Errorf("approvals are left: %v", left)
	}
	i.WaitRuntime()
}

// awaitOutage writes until the store refuses, because a database still has free space inside its files on a full
// disk.
func awaitOutage(i *programtest.Server, session string) {
	i.T.Helper()
	content := strings.Repeat("filling ", 8<<10)
	n := 0
	i.Eventually("the store refuses", func() bool {
		n++
		status, _, err := i.Try(http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", programtest.Object{
			"messageId": fmt.Sprint("filling-", n), "turnId": "filling", "role": "assistant", "type": "agentMessage",
			"status": "complete", "content": content})
		if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
			i.T.Fatalf("an upsert was answered %d, %v", status, err)
		}
		return status == http.StatusServiceUnavailable
	})
}

// limitWrites makes the kernel refuse the server's writes above a file size.
func limitWrites(i *programtest.Server, size uint64) {
	i.T.Helper()
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(i.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		i.T.Fatal(err)
	}
}

// refused sends a POST that must be refused because of the store.
func refused(i *programtest.Server, path string, body any) {
	i.T.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		i.T.Fatal(err)
	}
	response, err := i.Client().Post(i.URL+path, "application/json",
		bytes.NewReader(encoded)) //nolint:noctx // the test's deadline is enough
	if err != nil {
		i.T.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(raw), "store_unavailable") {
		i.T.Errorf("%s was answered %d, Retry-After %q, %s, %v", path, response.StatusCode,
			response.Header.Get("Retry-After"), raw, err)
	}
}

// reportsOutage checks health, readiness and the metrics.
func reportsOutage(i *programtest.Server) bool {
	i.T.Helper()
	ready, why := i.Call(http.MethodGet, "/api/ready", nil)
	_, health := i.Call(http.MethodGet, "/api/health", nil)
	_, metrics, err := i.Try(http.MethodGet, "/metrics", nil)
	if err != nil {
		i.T.Fatal(err)
	}
	engine := database.SQLite
	if i.DatabaseURL != "" {
		engine = database.Postgres
	}
	gauge := fmt.Sprintf("harness_database_refusing_writes_since_timestamp_seconds{engine=%q} ", engine)
	return ready == http.StatusServiceUnavailable && strings.Contains(programtest.Text(why, "reason"), fmt.Sprint(engine)) &&
		health["status"] == "degraded" &&
		programtest.Text(health, "store", "engine") == string(engine) && programtest.Text(health, "store", "since") != "" &&
		programtest.Text(health, "store", "reason") != "" &&
		strings.Contains(string(metrics), gauge+"1.")
}

// A network silently drops packets to Postgres. Requests that write are asked to retry, and the server is not ready.
// Once another connection works, the server stores the runtime's output of the outage in order and once. No earlier
// connection ever works again.
func TestANetworkThatSwallowsPackets(t *testing.T) {
	t.Parallel()
	proxy := dbtest.NewProxy(t, dbtest.NewRole(t).URL)
	s := programtest.New(t, programtest.WithEnv("HARNESS_LIMITS=store-wait-ms=300"), programtest.WithDatabase(proxy.URL))
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_SLOW[100,20] MOCK_HOLD[end]")
	events.Wait("a token", func(f programtest.Frame) bool {
		return programtest.Text(f.Decoded(), "method") == programtest.AgentDelta
	})
	proxy.Swallow(dbtest.Both)
	began := time.Now()
	refused(server, "/api/sessions/"+session+"/transcript/upsert", programtest.Object{
		"messageId": "m", "turnId": turn, "role": "system", "type": "note", "status": "complete", "content": "not stored"})
	t.Logf("refused after %s", time.Since(began))
	server.Eventually("the server says that it is not ready", func() bool { return reportsOutage(server) })
	if err := s.Model.WaitHeld(t.Context(), "end"); err != nil {
		t.Fatal(err)
	}
	s.Model.Release("end")
	proxy.Mend()
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	var want strings.Builder
	for n := range 100 {
		fmt.Fprintf(&want, "word%d ", n)
	}
	server.Eventually("reads have connections again, too", func() bool {
		status, _ := server.Call(http.MethodGet, "/api/sessions/"+session, nil)
		return status == http.StatusOK
	})
	var said []string
	for _, entry := range server.Transcript(session) {
		if programtest.Text(entry, "type") == "agentMessage" { // a refused upsert may have been stored later
			said = append(said, programtest.Text(entry, "content"))
		}
	}
	if !slices.Equal(said, []string{want.String() + "released end"}) {
		t.Errorf("the transcript is %q", said)
	}
	server.Stop()
	s.FoldJournal(session) // no gaps
	s.RequireNoOrphans()
}
