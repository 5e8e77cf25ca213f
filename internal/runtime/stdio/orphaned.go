package stdio

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process/shim"
)

// orphanedCall is a request of an earlier server without a confirmed answer. The server never repeats it: the agent's
// output shows its effect. The server only records an answer, and reports a missing one.
type orphanedCall struct {
	ID     int64  `json:"id"`
	Method string `json:"method"`
	Thread string `json:"thread,omitempty"`
	// Announces is Call.Announces.
	Announces string `json:"announces,omitempty"`

	label string
	// gaveUp means that a caller of this server made the call and canceled it.
	gaveUp bool
}

// labelOf identifies a call for the next server that attaches to the process.
func labelOf(call orphanedCall) string {
	label, err := json.Marshal(call)
	if err != nil {
		return ""
	}
	return string(label)
}

// orphanedCalls returns the open calls in a shim. It omits calls with an answer that the earlier server read (up to
// an offset) but did not settle. answered returns the request that a line answers, "" for none.
func orphanedCalls(f shim.Found, state shim.State, read int64, answered func(line []byte) string) (
	map[string]orphanedCall, error) {
	calls := map[string]orphanedCall{}
	from := read
	for _, open := range state.Calls {
		call := orphanedCall{label: open.Label}
		if json.Unmarshal([]byte(open.Label), &call) != nil || call.ID == 0 {
			continue // not made by Call
		}
		calls[strconv.FormatInt(call.ID, 10)] = call
		from = min(from, open.At)
	}
	if len(calls) == 0 || from == read {
		return calls, nil
	}
	// The server stored deleted spool output long ago.
	return calls, eachSpooled(f, from, read, func(line []byte, _ int64) { delete(calls, answered(line)) })
}

// orphanAnswered accepts the answer to a call of an earlier server; false if the line is not one.
func (c *Conn) orphanAnswered(said Line) bool {
	c.mu.Lock()
	call, was := c.orphaned[said.Answer]
	delete(c.orphaned, said.Answer)
	c.mu.Unlock()
	if !was {
		return false
	}
	c.log.Info().Str("call", call.Method).Str("session", call.Thread).Bool("refused", said.Refusal != nil).
		Msg(c.name + " answered a call without a waiting caller")
	p := &pending{method: call.Method, thread: call.Thread, label: call.label, announces: call.Announces}
	if said.Refusal != nil {
		c.settle(p)
		return true
	}
	c.answered(p, said.Result)
	return true
}

// reportOrphaned reports overdue calls of earlier servers. ended means that no more answers can arrive. It then also
// reports calls that this server's callers canceled.
func (c *Conn) reportOrphaned(ended bool) {
	c.mu.Lock()
	calls := slices.SortedFunc(maps.Values(c.orphaned), func(a, b orphanedCall) int { return int(a.ID - b.ID) })
	calls = slices.DeleteFunc(calls, func(call orphanedCall) bool { return call.gaveUp && !ended })
	maps.DeleteFunc(c.orphaned, func(_ string, call orphanedCall) bool { return ended || !call.gaveUp })
	for _, call := range calls {
		c.lost[call.Thread] = true
	}
	c.mu.Unlock()
	for _, call := range calls {
		c.log.Warn().Str("call", call.Method).Str("session", call.Thread).
			Msg(c.name + " never answered a call without a waiting caller; it is not repeated")
		s := runtime.Signal{Kind: runtime.SignalUnanswered, Generation: c.generation, Method: call.Method,
			ThreadID: call.Thread, RequestID: json.RawMessage(strconv.FormatInt(call.ID, 10)), ReceivedAt: time.Now()}
		c.out.push(runtime.Batch{Generation: c.generation, Signals: []runtime.Signal{s}, Stored: func() {
			c.settle(&pending{label: call.label})
		}})
	}
}

// Recalled reports on earlier servers' calls in a conversation: open while the agent may still answer one, lost when
// one stayed unanswered for too long.
func (c *Conn) Recalled(threadID string) (open, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.orphaned {
		open = open || call.Thread == threadID
	}
	return open, c.lost[threadID]
}
