//go:build cluster && linux

package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"harness/tests/programtest"
)

// conversation is a client's conversation, through the other nodes, with an agent of the first node. Each message has a
// key of its own and is sent until it is accepted.
type conversation struct {
	session  string
	mu       sync.Mutex
	accepted []string // the turns
	unknown  int      // messages whose owner, killed in the middle, reports that it does not know their outcome
	refused  []string // the answers that were neither an acceptance nor "come again"
	client   sync.WaitGroup
	last     string // the last answer
	stop     chan struct{}
}

// converse starts a conversation that ends with checkConversation.
func (p *trio) converse() *conversation {
	c := &conversation{session: p.session(), stop: make(chan struct{})}
	c.client.Go(func() {
		for i := 0; ; i++ {
			turn, goOn := c.send(p, i)
			if !goOn {
				return
			}
			if turn != "" && !c.until(func() bool { return p.ended(turn) }) {
				return
			}
		}
	})
	return c
}

// until waits for a condition, and reports whether it held before the end.
func (c *conversation) until(is func() bool) bool {
	for !is() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.stop:
			return false
		}
	}
	return true
}

// ended reports whether a turn is known to have ended.
func (p *trio) ended(turn string) bool {
	var status string
	err := p.db.Read().QueryRowContext(p.t.Context(), `select status from turns where turn_id = $1`, turn).Scan(&status)
	return err == nil && status != "inProgress"
}

// send sends a message until it is accepted, and returns its turn, "" if unknown; false at the end.
func (c *conversation) send(p *trio, i int) (turn string, goOn bool) {
	tries := 0
	return turn, c.until(func() bool {
		node := p.node(1 + (i+tries)%2)
		tries++
		asked := &programtest.Server{Site: node.Site, URL: node.URL, Headers: map[string]string{"Idempotency-Key": fmt.Sprint("said-", i)}}
		defer asked.Client().CloseIdleConnections()
		status, raw, err := asked.Try(http.MethodPost, "/api/sessions/"+c.session+"/messages",
			object{"text": fmt.Sprintf("MOCK_REPLY[said-%d.]", i)})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last = fmt.Sprintf("said-%d: %d %s, %v", i, status, raw, err)
		var answer struct{ TurnID, Code string }
		switch {
		case err != nil, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
			return false
		case json.Unmarshal(raw, &answer) != nil:
			c.refused = append(c.refused, c.last)
		case status == http.StatusAccepted:
			turn = answer.TurnID
			c.accepted = append(c.accepted, turn)
		case answer.Code == "idempotency_key_in_use": // the one sent before is still in progress
			return false
		case answer.Code == "idempotency_outcome_unknown":
			c.unknown++
		default:
			c.refused = append(c.refused, c.last)
		}
		return true
	})
}

// checkConversation ends the conversation. Every accepted message is stored once, and answered; every other message is
// stored at most once.
func (p *trio) checkConversation(c *conversation) {
	p.t.Helper()
	received := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.accepted)
	}
	last := received()
	answer := func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.last
	}
	defer func() {
		if p.t.Failed() {
			p.t.Logf("the last answer to a message was %s; of its turns run %d", answer(),
				p.count(`select count(*) from turns where session_id = $1 and status = 'inProgress'`, c.session))
		}
	}()
	p.eventually("is a message accepted", func() bool { return received() > last })
	close(c.stop)
	c.client.Wait()
	for _, answer := range c.refused {
		p.violated("a message was answered %s", answer)
	}
	for _, turn := range c.accepted {
		p.eventually("does a turn end", func() bool { return p.ended(turn) })
	}
	const mine = `select count(*) from turns where session_id = $1`
	all, completed := p.count(mine, c.session), p.count(mine+` and status = 'completed'`, c.session)
	slices.Sort(c.accepted)
	accepted := len(slices.Compact(c.accepted))
	if accepted != len(c.accepted) || completed < accepted || all > accepted+c.unknown+1 { // the last answer may be missing
		p.violated("of %d messages that were accepted, and %d of unknown outcome, %d turns are stored, %d of them completed",
			len(c.accepted), c.unknown, all, completed)
	}
	p.t.Logf("%d messages were accepted of the owner through other nodes, of %d it does not know, %d turns are stored", accepted,
		c.unknown, all)
}
