package tasks

import (
	"encoding/json"
	"slices"

	"harness/internal/content/artifact"
	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
)

// Log derives the events of a session from its records, which it takes one after the other, from the first on or from
// where a mark was made. The same records give the same events, with the same numbers.
type Log struct {
	// Redact, when set, takes out of long contents what must not be stored.
	Redact func([]byte) []byte

	about About
	state state
	by    *Origin // whose request causes what is derived now, nil for the task's
	out   []Event
	long  []longContent // what out refers to
	at    int64         // of the record that is taken, ms
}

// state is all that has to be known of the records before: a mark is made of it.
type state struct {
	Seq int64 `json:"seq"` // of the last event
	// Journal is the number of the last record.
	Journal int64     `json:"journal"`
	Task    *openTask `json:"task,omitempty"`
	// LastTask is the turn of the task that ended last: what comes of it later is of no task.
	LastTurn string `json:"last_turn,omitempty"`
	// Levels are those that the last message was sent with, nil when they are not known.
	Levels *levels `json:"levels,omitempty"`
	// Restored is told with the next task, whose runtime had lost the conversation.
	Restored *given `json:"restored,omitempty"`
	// Facts are what events say of the runtime now; Used is when use was last reported, or the task began (ms).
	Facts Facts `json:"facts"`
	Used  int64 `json:"used,omitempty"`
}

// openTask is a task that has begun and not ended.
type openTask struct {
	ID string `json:"id"`
	// Turn is its turn, "" until it began. Foreign says that the turn was begun by somebody else than this package: it is
	// a task of the turn's id.
	Turn    string `json:"turn,omitempty"`
	Foreign bool   `json:"foreign,omitempty"`
	// Told says that it was told of; a foreign one is as soon as its messages are known.
	Told bool `json:"told,omitempty"`
	Mode Mode `json:"mode,omitempty"`
	// Levels are those it runs with, nil for the session's.
	Levels  *levels `json:"levels,omitempty"`
	TraceID string  `json:"trace_id,omitempty"`
	SpanID  string  `json:"span_id,omitempty"`
	Origin  Origin  `json:"origin"`
	// Stopper asked for its stop.
	Stopper *Origin `json:"stopper,omitempty"`
	// Asked is when its runtime was asked (ms), 0 where that is not told.
	Asked int64 `json:"asked,omitempty"`
	// Calls are those that have begun and not ended, Attempts how often each was begun.
	Calls    []*call        `json:"calls,omitempty"`
	Attempts map[string]int `json:"attempts,omitempty"`
}

// NewLog makes a log that has taken nothing.
func NewLog(about About) *Log { return &Log{about: about, state: state{Facts: about.Begin}} }

// Seq is the number of the last event, Journal that of the last record.
func (l *Log) Seq() int64 { return l.state.Seq }

// Journal is described with Seq.
func (l *Log) Journal() int64 { return l.state.Journal }

// Begin is the event every session begins with. It is of no record, and comes before the first.
func (l *Log) Begin() []Event {
	if l.state.Seq > 0 {
		return nil
	}
	l.out, l.long, l.at = nil, nil, l.about.CreatedAt
	l.tell(SessionCreated, struct {
		ContractVersion string `json:"contract_version"`
	}{ContractVersion})
	return l.out
}

// Take is what a record comes to, often nothing.
func (l *Log) Take(record *journal.Record) []Event {
	l.out, l.long, l.at = nil, nil, record.Time
	l.state.Journal = record.Seq
	switch record.Type {
	case recordStarted, recordBound, recordEnded, recordAsked:
		l.takeOwn(record)
	case stream.EventNotification, stream.EventRequest:
		l.takeLine(record)
	case session.EventRestored:
		l.takeRestored(record)
	case session.EventMessageSent:
		l.takeSent(record)
	case "approval_resolved", "tool_user_input_resolved", "tool_call_resolved":
		l.takeResolution(record)
	default:
		l.takeTool(record)
	}
	return l.out
}

// Events are those of a session's records, which are all there are, in order.
func Events(about About, records []journal.Record) []Event {
	l := NewLog(about)
	all := l.Begin()
	for i := range records {
		all = append(all, l.Take(&records[i])...)
	}
	return all
}

// tell adds an event of the open task, or of none.
func (l *Log) tell(kind string, payload any) {
	l.state.Seq++
	trace := Trace{SessionID: l.about.SessionID, Origin: l.about.Origin}
	if t := l.state.Task; t != nil {
		trace.TaskID, trace.TurnID, trace.TraceID, trace.SpanID = t.ID, t.Turn, t.TraceID, t.SpanID
		trace.Origin = t.Origin
	}
	if l.by != nil {
		trace.Origin = *l.by
	}
	facts := &l.state.Facts
	l.out = append(l.out, Event{SchemaVersion: SchemaVersion, Seq: l.state.Seq, Time: javascript.ISOTime(l.at), Type: kind,
		Trace: trace, Runtime: RuntimeRef{l.about.Runtime, facts.Model, facts.RuntimeSessionID}, Payload: encode(payload)})
}

// ownRecord is what this package tells itself.
type ownRecord struct {
	TaskID   string          `json:"task_id,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`
	Mode     Mode            `json:"permission_mode,omitempty"`
	TurnID   string          `json:"turn_id,omitempty"`
	Outcome  *Outcome        `json:"outcome,omitempty"`
	// Levels are those the task runs with.
	Levels *levels `json:"levels,omitempty"`
	// Given is what the runtime was given, nil when it is not kept.
	Given *given `json:"given,omitempty"`
	// TellRuntime says that what is asked of the runtime is told. It stands here, so that the numbers of events stay when
	// the setting does not.
	TellRuntime bool `json:"tell_runtime,omitempty"`
	// Origin is who asked for the task, Facts what events say of the runtime from now on.
	Origin Origin `json:"origin"`
	Facts  *Facts `json:"facts,omitempty"`
	// CallID is the call that Origin decides about.
	CallID string `json:"tool_call_id,omitempty"`
}

func (l *Log) takeOwn(record *journal.Record) {
	var own ownRecord
	if json.Unmarshal(record.Payload, &own) != nil || own.TaskID+own.CallID == "" {
		return // the session was deleted, and what it said with it
	}
	l.state.Facts.replace(own.Facts)
	switch record.Type {
	case recordAsked:
		l.takeAsked(own, record.Actor)
	case recordStarted:
		l.close(Outcome{Status: Failed, Failure: &Failure{Code: CodeInterrupted, Message: "another task was begun",
			Runtime: l.about.Runtime}})
		l.state.Task = &openTask{ID: own.TaskID, Mode: own.Mode, Levels: own.Levels, TraceID: record.TraceID,
			SpanID: record.SpanID, Origin: own.Origin}
		l.start(own.Messages, own.Given)
		if own.TellRuntime {
			l.state.Task.Asked = record.Time
			l.tell(RuntimeStarted, runtimeRequest{ID: own.TaskID, Operation: operationTurn})
		}
	case recordBound:
		if t := l.state.Task; t != nil && t.ID == own.TaskID {
			t.Turn = own.TurnID
		}
	case recordEnded:
		if t := l.state.Task; t != nil && t.ID == own.TaskID {
			l.close(*own.Outcome)
			return
		}
		// It was stopped before it began, while another one may run.
		running := l.state.Task
		l.state.Task = &openTask{ID: own.TaskID, Mode: own.Mode, TraceID: record.TraceID, SpanID: record.SpanID, Origin: own.Origin}
		l.start(own.Messages, nil)
		l.close(*own.Outcome)
		l.state.Task = running
	}
}

// start tells that the open task has begun.
func (l *Log) start(messages json.RawMessage, what *given) {
	if len(messages) == 0 {
		messages = json.RawMessage("[]")
	}
	l.state.Task.Told, l.state.Used = true, l.at
	l.tell(TaskStarted, struct {
		Messages json.RawMessage `json:"messages"`
	}{messages})
	if what == nil {
		what = &given{Visibility: visibilityPrompt, Window: encode(contextWindow{"none"})}
	}
	if what.InputHash == "" {
		what.InputHash = hash(messages)
	}
	l.tell(ModelInput, what)
	if again := l.state.Restored; again != nil {
		l.state.Restored = nil
		l.tell(ModelInput, again)
	}
}

// takeRestored tells that the runtime has lost the conversation and is told it again: with the open task, or the one
// that is about to begin.
func (l *Log) takeRestored(record *journal.Record) {
	var said struct {
		InputRef json.RawMessage `json:"input_ref"`
		Window   json.RawMessage `json:"context_window"`
	}
	if json.Unmarshal(record.Payload, &said) != nil || said.Window == nil {
		return // the session was deleted, and what it said with it
	}
	var ref struct {
		Hash string `json:"content_hash"`
	}
	_ = json.Unmarshal(said.InputRef, &ref) // without one there is no hash
	again := &given{InputRef: said.InputRef, InputHash: ref.Hash, Visibility: visibilityPrompt, Window: said.Window,
		Reconstructed: true}
	if t := l.state.Task; t == nil || !t.Told {
		l.state.Restored = again
		return
	}
	l.tell(ModelInput, again)
}

// close ends the open task, if there is one, and what is open in it.
func (l *Log) close(outcome Outcome) {
	t := l.state.Task
	if t == nil {
		return
	}
	if !t.Told {
		l.start(nil, nil)
	}
	if outcome.Status == Stopped && t.Stopper != nil {
		l.by = t.Stopper
		defer func() { l.by = nil }()
	}
	for len(t.Calls) > 0 {
		l.abandon(t.Calls[0], outcome)
	}
	if t.Asked > 0 {
		l.tell(RuntimeCompleted, runtimeAnswer{runtimeRequest{ID: t.ID, Operation: operationTurn}, outcome.Status == Failed,
			max(l.at-t.Asked, 0)})
	}
	var payload any = struct {
		Reason string `json:"reason"`
	}{outcome.Reason}
	if outcome.Status == Failed && outcome.Failure != nil {
		payload = l.shortFailure(outcome.Failure)
	}
	l.tell(terminal(outcome.Status), payload)
	l.state.LastTurn, l.state.Task = t.Turn, nil
}

// shortFailure is a failure whose raw words, when they are long, are an artifact.
func (l *Log) shortFailure(f *Failure) any {
	raw, ref := l.shorten("failure", f.Raw)
	if ref == nil {
		return f
	}
	short := *f
	short.Raw = raw
	return struct {
		Failure
		RawRef *artifact.Ref `json:"raw_ref"`
	}{short, ref}
}

// takeLine is a line of the runtime.
func (l *Log) takeLine(record *journal.Record) {
	meta, err := stream.MetaOf(&record.Event)
	if err != nil {
		return
	}
	line, ok := stream.LineOf(&record.Event, meta)
	if !ok {
		return
	}
	method, turn := wire.Text(line.Method), database.DecodeText(record.TurnID)
	if turn == "" {
		turn = meta.TurnID
	}
	if !l.concerns(turn, method) {
		return
	}
	if record.Type == stream.EventRequest {
		l.takeRequest(meta, method, line.Params)
		return
	}
	switch method {
	case wire.MethodTurnStarted:
		l.state.Facts.replace(&Facts{Model: wire.Text(wire.Members(line.Params, "model")[0])})
	case wire.MethodModelRerouted:
		l.state.Facts.replace(&Facts{Model: wire.Text(wire.Members(line.Params, "toModel")[0])})
	case wire.MethodTurnCompleted:
		if t := l.state.Task; t.Foreign {
			ended := wire.ReadTurn(wire.Members(line.Params, "turn")[0])
			l.close(outcomeOf(l.about.Runtime, ended))
		}
	case wire.MethodItemStarted:
		l.takeItem(line.Params, false)
	case wire.MethodItemCompleted:
		l.takeItem(line.Params, true)
	case wire.MethodTokenUsage:
		l.takeUsage(line.Params)
	default:
		l.takeDelta(method, line.Params)
	}
}

// concerns tells whether a line is of the open task. The first line of a turn that nobody asked for here opens one.
func (l *Log) concerns(turn, method string) bool {
	if t := l.state.Task; t != nil {
		if t.Turn == "" && method == wire.MethodTurnStarted {
			t.Turn = turn
		}
		return turn == "" || t.Turn == turn || t.Turn == ""
	}
	if turn == "" || turn == l.state.LastTurn || method != wire.MethodTurnStarted {
		return false
	}
	l.state.Task = &openTask{ID: turn, Turn: turn, Foreign: true}
	return true
}

// find is the open call of an id, nil when there is none.
func (l *Log) find(id string) *call {
	if l.state.Task == nil {
		return nil
	}
	at := slices.IndexFunc(l.state.Task.Calls, func(c *call) bool { return c.ID == id })
	if at < 0 {
		return nil
	}
	return l.state.Task.Calls[at]
}

// encode is for what always encodes: texts, numbers and JSON that was parsed before.
func encode(value any) json.RawMessage { return javascript.MustEncode(value) }
