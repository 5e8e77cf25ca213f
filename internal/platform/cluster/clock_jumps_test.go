//go:build cluster && linux

package cluster_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"harness/tests/programtest"
)

// keyed sends a message through a node with a key, and returns its turn.
func (p *trio) keyed(node int, session, key, text string) (turn string) {
	p.t.Helper()
	server := p.node(node)
	asked := &programtest.Server{Site: server.Site, URL: server.URL, Headers: map[string]string{"Idempotency-Key": key}}
	defer asked.Client().CloseIdleConnections()
	answer := p.want(asked, http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages", object{"text": text})
	return answer["turnId"].(string)
}

// The dates of nodes jump, forward or back, by an hour or by days. The nodes end no jobs of others, drop no pending
// answer, and continue.
func TestTheDatesOfNodesJump(t *testing.T) {
	t.Parallel()
	p := newTrio(t, time.Minute, "")
	p.a.Stop()
	p.a = p.siteA.Start("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000")
	values, said, wrote := p.useRegisters(p.a, p.b, p.c), p.converse(), p.keepWriting()
	job := p.enqueueWith(object{"draft": "MOCK_HOLD[job]"})
	if err := p.siteA.Model.WaitHeld(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	session := p.session()
	first := p.keyed(1, session, "before", "MOCK_REPLY[once]")
	const days = 40 * 24 * time.Hour
	for node, by := range []time.Duration{-time.Hour, days, -days} {
		p.clocks[node].move(by)
		for n := range 3 {
			if again := p.keyed(n, session, "before", "MOCK_REPLY[once]"); again != first {
				p.violated("the date of node %s jumped by %s, and a message with the same key is another one at %s", nodeName(node), by, nodeName(n))
			}
		}
		p.keyed(node, session, fmt.Sprint("after-", node), "MOCK_REPLY[after it]")
		p.awaitAll(wrote, time.Now(), 0, 1, 2)
		p.awaitRenewal(job)
	}
	const attempts = `select attempts from jobs where id = $1`
	if n := p.count(attempts, job); n != 1 {
		p.violated("a job that runs was begun %d times", n)
	}
	p.siteA.Model.Release("job")
	p.awaitJobs()
	p.checkConversation(said)
	p.checkRegisters(values)
	p.check(wrote)
	p.checkJobs()
	for _, server := range []*programtest.Server{p.a, p.b, p.c} {
		server.Stop()
	}
	p.report()
}

// awaitRenewal returns once the node of a running job has renewed its lease, or the job is over. By then all nodes have
// looked for orphaned jobs.
func (p *trio) awaitRenewal(job string) {
	p.t.Helper()
	const until = `select coalesce(lease_until, 0) from jobs where id = $1`
	before := p.count(until, job)
	p.eventually("is a job's lease renewed", func() bool { return p.count(until, job) != before })
}
