package agui

import (
	"cmp"
	"encoding/json"
	"slices"

	"harness/api/door"
	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/stream"
)

// Types of events that are more than a name here.
const (
	runStarted     = "RUN_STARTED"
	textStart      = "TEXT_MESSAGE_START"
	textContent    = "TEXT_MESSAGE_CONTENT"
	textEnd        = "TEXT_MESSAGE_END"
	reasoningStart = "REASONING_START"
	thoughtStart   = "REASONING_MESSAGE_START"
	thoughtContent = "REASONING_MESSAGE_CONTENT"
	thoughtEnd     = "REASONING_MESSAGE_END"
	reasoningEnd   = "REASONING_END"
	stateDelta     = "STATE_DELTA"
)

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// event is an event of a run.
type event struct {
	kind    string
	members any // an object
	// begun: it belongs to the message that began the run.
	begun bool
}

// encode returns the event as JSON.
func (e event) encode() []byte {
	head := append([]byte(`{"type":`), javascript.MustEncode(e.kind)...)
	rest := javascript.MustEncode(e.members)
	if len(rest) > len("{}") {
		head = append(head, ',')
	}
	return append(head, rest[1:]...)
}

type object = map[string]any

// translator makes events of records. Their sequence depends only on the records since the start of the turn.
type translator struct {
	session     string
	turn, ended string
	open        []*openItem
	waiting     []string
	begun       bool // the message that began the turn has passed
	events      []event
}

// openItem is an item whose end is due.
type openItem struct {
	id, kind string
	said     bool // it has a text
}

// begins reports whether a record is the start of a turn.
func begins(record *journal.Record) bool {
	read, _ := door.ReadEvent(record)
	return read.Method == wire.MethodTurnStarted && record.TurnID != ""
}

func (t *translator) add(kind string, members any) {
	t.events = append(t.events, event{kind: kind, members: members})
}

// translate returns the events of a record: none outside a turn, and with raw the frames of what has no event.
func (t *translator) translate(record *journal.Record, raw bool) []event {
	t.events = nil
	read, ok := door.ReadEvent(record)
	if read.Method == wire.MethodTurnStarted && record.TurnID != "" && t.turn == "" {
		*t = translator{session: t.session, turn: record.TurnID}
		t.add(runStarted, object{"threadId": t.session, "runId": t.turn})
		t.add("STATE_SNAPSHOT", object{"snapshot": object{"plan": nil, "usage": nil, "waiting": []string{}}})
		return t.events
	}
	if t.turn == "" || record.TurnID != "" && record.TurnID != t.turn {
		return nil
	}
	switch {
	case read.Asked != nil:
		t.waiting = append(t.waiting, read.Asked.ID)
		t.add("CUSTOM", object{"name": "harness.request", "value": stream.RequestPayload(*read.Asked, read.Method, read.Params)})
		t.patch("waiting", t.waiting)
	case read.Settled != nil:
		t.waiting = slices.DeleteFunc(append([]string{}, t.waiting...), func(id string) bool { return id == read.Settled.ID })
		t.add("CUSTOM", object{"name": "harness.request_resolved", "value": record.Payload})
		t.patch("waiting", t.waiting)
	case ok && read.Method != "":
		t.line(read.Method, read.Params)
	}
	if raw && len(t.events) == 0 {
		t.frames(record)
	}
	return t.events
}

// frames adds the frames of a record that has no event.
func (t *translator) frames(record *journal.Record) {
	frames, err := stream.Frames(*record)
	if err != nil {
		return
	}
	for i := range frames {
		if !frames[i].Repeats {
			t.add("RAW", object{"source": "harness", "event": json.RawMessage(frames[i].AppendJSON(nil, true))})
		}
	}
}

func (t *translator) patch(name string, value any) {
	t.add(stateDelta, object{"delta": []object{{"op": "add", "path": "/" + name, "value": value}}})
}

// line translates a notification of a runtime.
func (t *translator) line(method string, params json.RawMessage) {
	switch method {
	case wire.MethodTurnCompleted:
		t.end(wire.ReadTurn(wire.Members(params, "turn")[0]))
	case wire.MethodItemStarted:
		t.started(params)
	case wire.MethodItemCompleted:
		t.completed(params)
	case wire.MethodMessageDelta:
		t.grow(wire.ItemAgentMessage, params)
	case wire.MethodReasoningDelta, wire.MethodSummaryDelta:
		t.grow(wire.ItemReasoning, params)
	case wire.MethodTurnPlan:
		t.patch("plan", wire.Members(params, "plan")[0])
	case wire.MethodTokenUsage:
		t.patch("usage", wire.Members(params, "tokenUsage")[0])
	}
}

// end ends the run, and first what is open in it.
func (t *translator) end(turn runtime.Turn) {
	for len(t.open) > 0 {
		t.close(t.open[0])
	}
	run := object{"threadId": t.session, "runId": t.turn}
	switch turn.Status {
	case runtime.TurnFailed:
		t.add("RUN_ERROR", object{"message": cmp.Or(turn.Error, "The turn failed"), "code": "turn_failed"})
	case runtime.TurnInterrupted:
		run["result"] = object{"interrupted": true}
		fallthrough
	default:
		t.add("RUN_FINISHED", run)
	}
	t.turn, t.ended, t.waiting = "", t.turn, nil
}
