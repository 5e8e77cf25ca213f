//go:build cluster && linux

package cluster_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"harness/tests/programtest"
)

// A full disk under the shims of a node delays the work there. Once there is space again, every message of the agent
// arrives once, and turns and jobs end normally.
func TestTheDiskUnderAShimIsFull(t *testing.T) {
	t.Parallel()
	if !asRoot(t) {
		return
	}
	const words, last = 400, "released full" // more than fits in the last page of a spool
	p := newTrio(t, time.Minute, "")
	values, said, wrote := p.useRegisters(p.a, p.b, p.c), p.converse(), p.keepWriting()
	p.enqueue()
	session := p.session()
	follower := p.b.Follow("threadId=" + session + "&after=0")
	p.streams[session] = []*programtest.Follower{follower, p.c.Follow("threadId=" + session + "&after=0")}
	shown := func() string {
		grown := texts{}
		for _, f := range follower.All() {
			grown.shown(f)
		}
		var all strings.Builder
		for _, text := range grown {
			all.WriteString(text)
		}
		return all.String()
	}
	turn := p.send(session, fmt.Sprintf("MOCK_SLOW[%d,5] MOCK_HOLD[full]", words))
	p.eventually("does the agent speak", func() bool { return shown() != "" })
	p.disk.Fill()
	if err := p.siteA.Model.WaitHeld(t.Context(), "full"); err != nil {
		t.Fatal(err)
	}
	p.siteA.Model.Release("full")
	p.enqueueAt(session, object{})
	p.awaitAll(wrote, time.Now(), 0, 1, 2) // the store is on another disk
	if text, status := shown(), p.turn(turn); strings.Contains(text, last) || status != "inProgress" {
		p.violated("though its output could not be kept the turn is %s and said %d bytes", status, len(text))
	}
	p.disk.Free()
	p.eventually("does the turn end", func() bool { return p.turn(turn) != "inProgress" })
	if status := p.turn(turn); status != "completed" {
		p.violated("the turn is %s", status)
	}
	var whole strings.Builder
	for i := range words {
		fmt.Fprintf(&whole, "word%d ", i)
	}
	whole.WriteString(last)
	entries := p.want(p.c, http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)["transcript"]
	if text := fmt.Sprint(entries); !strings.Contains(text, whole.String()) {
		p.violated("the transcript does not have all that was said: %s", text)
	}
	p.awaitJobs()
	p.checkConversation(said)
	p.checkRegisters(values)
	p.decide()
	p.check(wrote)
	p.checkJobs()
	p.checkStreams()
	p.report()
}
