package codex

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"harness/runtime"
	"harness/runtime/process/shim"
)

// formerCall is a request of a server before this one whose answer that server did not say to have got. It is never sent again: what it did
// shows in what codex says, and when codex answers it, that is all there is to know. Without an answer it is reported.
type formerCall struct {
	ID     int64  `json:"id"`
	Method string `json:"method"`
	Thread string `json:"thread,omitempty"`

	label string
}

// labelOf names a call for whoever attaches to the process next; "" for one whose loss concerns nobody: it changes nothing.
func labelOf(id int64, method, thread string) string {
	if method == "initialize" || method == "thread/resume" || strings.HasSuffix(method, "/list") || strings.HasSuffix(method, "/read") {
		return ""
	}
	label, err := json.Marshal(formerCall{ID: id, Method: method, Thread: thread})
	if err != nil {
		return ""
	}
	return string(label)
}

// formerCalls are the open calls a shim remembers, without those whose answers the server before us has read but had no time to settle.
func formerCalls(f shim.Found, state shim.State, read int64) (map[string]formerCall, error) {
	calls := map[string]formerCall{}
	from := read
	for _, open := range state.Calls {
		call := formerCall{label: open.Label}
		if json.Unmarshal([]byte(open.Label), &call) != nil {
			continue
		}
		calls[strconv.FormatInt(call.ID, 10)] = call
		from = min(from, open.At)
	}
	if len(calls) == 0 || from == read {
		return calls, nil
	}
	spooled := shim.Spooled(f, from, read)
	defer func() { _ = spooled.Close() }()
	lines := newLineReader(spooled, maxLine)
	for {
		line, err := lines.next()
		if errors.Is(err, errLineTooLong) {
			continue
		}
		if err != nil {
			// The end; or the spool let go of it, because it was stored long ago.
			return calls, spooled.Err()
		}
		if answered, err := parseFrame(line); err == nil && answered.kind() == frameResponse {
			delete(calls, string(answered.ID))
		}
	}
}

// formerAnswered takes the answer to a call of a server before us; false when it is none.
func (c *conn) formerAnswered(f frame) bool {
	c.mu.Lock()
	call, was := c.former[string(f.ID)]
	delete(c.former, string(f.ID))
	c.mu.Unlock()
	if !was {
		return false
	}
	if f.Error == nil {
		c.turns.answered(call.Method, call.Thread, f.Result)
	}
	c.log.Info().Str("call", call.Method).Str("session", call.Thread).Bool("refused", f.Error != nil).
		Msg("codex answered a call of the server before this one")
	c.wire.settled(call.label)
	return true
}

// reportFormer reports the calls of servers before us that codex has not answered, and will not or is overdue with.
func (c *conn) reportFormer() {
	c.mu.Lock()
	calls := slices.SortedFunc(maps.Values(c.former), func(a, b formerCall) int { return int(a.ID - b.ID) })
	clear(c.former)
	for _, call := range calls {
		c.lost[call.Thread] = true
	}
	c.mu.Unlock()
	for _, call := range calls {
		c.log.Warn().Str("call", call.Method).Str("session", call.Thread).
			Msg("codex never answered a call of the server before this one; it is not repeated")
		s := runtime.Signal{Kind: runtime.SignalUnanswered, Generation: c.generation, Method: call.Method, ThreadID: call.Thread,
			RequestID: json.RawMessage(strconv.FormatInt(call.ID, 10)), ReceivedAt: time.Now()}
		c.out.push(runtime.Batch{Generation: c.generation, Signals: []runtime.Signal{s}, Stored: func() { c.wire.settled(call.label) }})
	}
}

// Recalled tells how a conversation stands with the calls that servers before this one made in it: open while codex may still answer one or
// has not announced the turn it named, lost when the process that runs has left one unanswered for so long that nobody waits any more.
func (c *Codex) Recalled(threadID string) (open, lost bool) {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return true, false // it is not up yet, or ended a moment ago
	}
	if active, announced, _ := conn.turns.turn(threadID); active != "" && !announced {
		return true, false
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	for _, call := range conn.former {
		open = open || call.Thread == threadID
	}
	return open, conn.lost[threadID]
}
