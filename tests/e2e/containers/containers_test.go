//go:build containers && linux

// Package containers_test builds the repository's images and runs deploy/postgres/compose.yml on a real Docker
// engine.
package containers_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// patience limits an action of Patroni.
const patience = 3 * time.Minute

// Two nodes on three members of Postgres: the primary is lost, then a node. No acknowledged data is lost.
func TestTwoNodes(t *testing.T) {
	p := newProject(newEngine(t))
	p.compose("up", "--build", "--detach", "--wait")
	one, two := p.server("node-1"), p.server("node-2")
	session := one.CreateSession(programtest.Object{"cwd": "/workspace"})
	converse(one, session, "the first")
	converse(two, session, "the second") // its owner runs it

	began, primary := time.Now(), p.primary("")
	p.compose("kill", primary)
	now := p.primary(primary)
	t.Logf("%s was lost, %s is the primary %s later", primary, now, time.Since(began).Round(time.Second))
	converse(two, session, "the third")
	t.Logf("a turn was had %s after the loss", time.Since(began).Round(time.Second))
	p.compose("start", primary)
	p.await(primary+" follows", func() bool {
		return regexp.MustCompile(primary + `\W.*(Replica|Sync Standby)\W+(running|streaming)`).MatchString(p.members(now))
	})

	began = time.Now()
	p.compose("kill", "node-1")
	converse(two, session, "the fourth")
	t.Logf("its node was lost, and the session went on %s later", time.Since(began).Round(time.Second))
	conversation := fmt.Sprint(two.Transcript(session))
	for _, said := range []string{"the first", "the second", "the third", "the fourth"} {
		if !strings.Contains(conversation, said) {
			t.Errorf("the conversation has no %q:\n%s", said, conversation)
		}
	}
	p.agentsReachNoKeeper()
}

// converse runs a turn. It retries after a 503, with a key so that the turn runs once.
func converse(server *programtest.Server, session, text string) {
	server.T.Helper()
	server.Headers["Idempotency-Key"] = strings.ReplaceAll(text, " ", "-")
	defer delete(server.Headers, "Idempotency-Key")
	var last []byte
	if !polling.Until(patience, func() bool {
		status, answer, err := server.Try(http.MethodPost, "/api/sessions/"+session+"/messages", programtest.Object{"text": text})
		last = answer
		return err == nil && status == http.StatusAccepted
	}) {
		server.T.Fatalf("%q is not accepted: %s", text, last)
	}
	delete(server.Headers, "Idempotency-Key")
	turn := programtest.Text(programtest.Decode[programtest.Object](server.T, last), "turnId")
	if !polling.Until(patience, func() bool {
		status, answer, err := server.Try(http.MethodGet, "/api/sessions/"+session, nil)
		last = answer
		return err == nil && status == http.StatusOK && strings.Contains(string(answer), turn) &&
			!strings.Contains(string(answer), `"inProgress"`)
	}) {
		server.T.Fatalf("the turn of %q does not end: %s", text, last)
	}
}

// members returns Patroni's report about the members, from a member other than the lost one.
func (p *project) members(at string) string {
	out, _ := p.command(p.with("exec", "-T", at, "patronictl", "-c", "/etc/patroni/config.yml", "list")...).CombinedOutput()
	return string(out)
}

// primary returns the member that accepts writes, once it is not the lost one, "" for none.
func (p *project) primary(lost string) (name string) {
	p.t.Helper()
	at := "db-1"
	if lost == at {
		at = "db-2"
	}
	p.await("another primary than "+lost, func() bool {
		found := regexp.MustCompile(`(db-\d)\W.*Leader\W+running`).FindStringSubmatch(p.members(at))
		if found != nil {
			name = found[1]
		}
		return found != nil && name != lost
	})
	return name
}

func (p *project) await(what string, is func() bool) {
	p.t.Helper()
	if !polling.Until(patience, is) {
		p.t.Fatalf("never: %s\n%s", what, p.members("db-2"))
	}
}

// agentsReachNoKeeper: agents cannot reach the service that elects the primary.
func (p *project) agentsReachNoKeeper() {
	p.t.Helper()
	for _, keeper := range []string{"etcd-1/2379", "member-1/8008", "db-1/8008"} {
		if out, err := p.command(p.with("exec", "-T", "--user", "agent", "node-2", "bash", "-c", "exec 3<>/dev/tcp/"+keeper)...).CombinedOutput(); err == nil {
			p.t.Errorf("an agent reaches %s: %s", keeper, out)
		}
	}
	if out, err := p.command(p.with("exec", "-T", "--user", "agent", "node-2", "bash", "-c", "exec 3<>/dev/tcp/db-2/5432")...).CombinedOutput(); err != nil {
		p.t.Errorf("the way that is open is not: %v %s", err, out)
	}
}
