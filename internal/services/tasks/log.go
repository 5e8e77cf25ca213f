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

// Log derives the events of a session from its records in order, starting at the first one or at a marker. The same
// records yield the same events with the same numbers.
type Log struct {
	// Redact, when set, removes what must not be stored from long contents.
	Redact func([]byte) []byte

	about About
	state state
	by    *Origin // origin of the derived events, nil for the task's
	out   []Event
	long  []longContent // contents that out refers to
	at    int64         // of the current record, ms
}

// state contains everything derived from earlier records. A marker stores it.
type state struct {
	Seq int64 `json:"seq"` // of the last event
	// Journal is the number of the last record.
	Journal int64     `json:"journal"`
	Task    *openTask `json:"task,omitempty"`
	// LastTurn is the turn of the last ended task: its later records belong to no task.
	LastTurn string `json:"last_turn,omitempty"`
	// Levels are the levels of the last message, nil if unknown.
	Levels *levels `json:"levels,omitempty"`
	// Restored is emitted with the next task, after the runtime had lost the conversation.
	Restored *given `json:"restored,omitempty"`
	// Facts are the current facts about the runtime in events. Used is when usage was last reported, or when the task
	// began (ms).
	Facts Facts `json:"facts"`
	Used  int64 `json:"used,omitempty"`
}

// openTask is a task that has begun but not ended.
type openTask struct {
	ID string `json:"id"`
	// Turn is the task's turn, "" until it began. Foreign means that another client began the turn: the task has its
	// id.
	Turn    string `json:"turn,omitempty"`
	Foreign bool   `json:"foreign,omitempty"`
	// Announced means that the start was emitted. The start of a foreign task follows its messages.
	Announced bool `json:"told,omitempty"`
	Mode      Mode `json:"mode,omitempty"`
	// Levels are the task's own, nil for the session's.
	Levels  *levels `json:"levels,omitempty"`
	TraceID string  `json:"trace_id,omitempty"`
	SpanID  string  `json:"span_id,omitempty"`
	Origin  Origin  `json:"origin"`
	// Stopper is the origin of its stop request.
	Stopper *Origin `json:"stopper,omitempty"`
	// Asked is the time of the request to the runtime (ms), 0 if such requests are not reported.
	Asked int64 `json:"asked,omitempty"`
	// Calls are the open calls; Attempts has the number of attempts of each call.
	Calls    []*call        `json:"calls,omitempty"`
	Attempts map[string]int `json:"attempts,omitempty"`
}

// NewLog makes a log without records.
func NewLog(about About) *Log { return &Log{about: about, state: state{Facts: about.Begin}} }

// Seq returns the number of the last event.
func (l *Log) Seq() int64 { return l.state.Seq }

// Journal returns the number of the last record.
func (l *Log) Journal() int64 { return l.state.Journal }

// Begin returns the first event of every session. It belongs to no record.
func (l *Log) Begin() []Event {
	if l.state.Seq > 0 {
		return nil
	}
	l.out, l.long, l.at = nil, nil, l.about.CreatedAt
	l.emit(SessionCreated, struct {
		ContractVersion string `json:"contract_version"`
	}{ContractVersion})
	return l.out
}

// Take returns the events of a record, often none.
func (l *Log) Take(record *journal.Record) []Event {
	l.out, l.long, l.at = nil, nil, record.Time
	l.state.Journal = record.Seq
	switch record.Type {
	case recordStarted, recordBound, recordEnded, recordAsked:
		l.onOwnRecord(record)
	case stream.EventNotification, stream.EventRequest:
		l.onLine(record)
	case session.EventRestored:
		l.onRestored(record)
	case session.EventMessageSent:
		l.onSent(record)
	case "approval_resolved", "tool_user_input_resolved", "tool_call_resolved":
		l.onResolution(record)
	default:
		l.onToolRecord(record)
	}
	return l.out
}

// Events returns the events of all records of a session, in order.
func Events(about About, records []journal.Record) []Event {
	l := NewLog(about)
	all := l.Begin()
	for i := range records {
		all = append(all, l.Take(&records[i])...)
	}
	return all
}

// emit adds an event of the open task, or of none.
func (l *Log) emit(kind string, payload any) {
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

// ownRecord is the payload of this package's own events.
type ownRecord struct {
	TaskID   string          `json:"task_id,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`
	Mode     Mode            `json:"permission_mode,omitempty"`
	TurnID   string          `json:"turn_id,omitempty"`
	Outcome  *Outcome        `json:"outcome,omitempty"`
	// Levels are the task's own.
	Levels *levels `json:"levels,omitempty"`
	// Given is the input of the runtime, nil if it is not stored.
	Given *given `json:"given,omitempty"`
	// ReportRequests means that events report requests to the runtime. It is stored here so that event numbers stay the
	// same when the setting changes.
	ReportRequests bool `json:"tell_runtime,omitempty"`
	// Origin is the caller that submitted the task. Facts are the facts about the runtime in later events.
	Origin Origin `json:"origin"`
	Facts  *Facts `json:"facts,omitempty"`
	// CallID is the call of Origin's decision.
	CallID string `json:"tool_call_id,omitempty"`
}

func (l *Log) onOwnRecord(record *journal.Record) {
	var own ownRecord
	if json.Unmarshal(record.Payload, &own) != nil || own.TaskID+own.CallID == "" {
		return // it was deleted with its session
	}
	l.state.Facts.replace(own.Facts)
	switch record.Type {
	case recordAsked:
		l.onAsked(own, record.Actor)
	case recordStarted:
		l.close(Outcome{Status: Failed, Failure: &Failure{Code: CodeInterrupted, Message: "another task was begun",
			Runtime: l.about.Runtime}})
		l.state.Task = &openTask{ID: own.TaskID, Mode: own.Mode, Levels: own.Levels, TraceID: record.TraceID,
			SpanID: record.SpanID, Origin: own.Origin}
		l.start(own.Messages, own.Given)
		if own.ReportRequests {
			l.state.Task.Asked = record.Time
			l.emit(RuntimeStarted, runtimeRequest{ID: own.TaskID, Operation: operationTurn})
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
		// The task was stopped before it began, while another one may be running.
		running := l.state.Task
		l.state.Task = &openTask{ID: own.TaskID, Mode: own.Mode, TraceID: record.TraceID, SpanID: record.SpanID, Origin: own.Origin}
		l.start(own.Messages, nil)
		l.close(*own.Outcome)
		l.state.Task = running
	}
}

// start emits the start of the open task.
func (l *Log) start(messages json.RawMessage, what *given) {
	if len(messages) == 0 {
		messages = json.RawMessage("[]")
	}
	l.state.Task.Announced, l.state.Used = true, l.at
	l.emit(TaskStarted, struct {
		Messages json.RawMessage `json:"messages"`
	}{messages})
	if what == nil {
		what = &given{Visibility: visibilityPrompt, Window: encode(contextWindow{"none"})}
	}
	if what.InputHash == "" {
		what.InputHash = hash(messages)
	}
	l.emit(ModelInput, what)
	if again := l.state.Restored; again != nil {
		l.state.Restored = nil
		l.emit(ModelInput, again)
	}
}

// onRestored emits that the runtime lost and regained the conversation, with the open or the next task.
func (l *Log) onRestored(record *journal.Record) {
	var said struct {
		InputRef json.RawMessage `json:"input_ref"`
		Window   json.RawMessage `json:"context_window"`
	}
	if json.Unmarshal(record.Payload, &said) != nil || said.Window == nil {
		return // it was deleted with its session
	}
	var ref struct {
		Hash string `json:"content_hash"`
	}
	_ = json.Unmarshal(said.InputRef, &ref) // there is nothing to hash
	again := &given{InputRef: said.InputRef, InputHash: ref.Hash, Visibility: visibilityPrompt, Window: said.Window,
		Reconstructed: true}
	if t := l.state.Task; t == nil || !t.Announced {
		l.state.Restored = again
		return
	}
	l.emit(ModelInput, again)
}

// close ends the open task, if any, with its open calls.
func (l *Log) close(outcome Outcome) {
	t := l.state.Task
	if t == nil {
		return
	}
	if !t.Announced {
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
		l.emit(RuntimeCompleted, runtimeAnswer{runtimeRequest{ID: t.ID, Operation: operationTurn}, outcome.Status == Failed,
			max(l.at-t.Asked, 0)})
	}
	var payload any = struct {
		Reason string `json:"reason"`
	}{outcome.Reason}
	if outcome.Status == Failed && outcome.Failure != nil {
		payload = l.shortFailure(outcome.Failure)
	}
	l.emit(terminal(outcome.Status), payload)
	l.state.LastTurn, l.state.Task = t.Turn, nil
}

// shortFailure returns a failure with a long raw text replaced by an artifact.
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

// onLine handles a line of the runtime.
func (l *Log) onLine(record *journal.Record) {
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
		l.onRequest(meta, method, line.Params)
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
		l.onItem(line.Params, false)
	case wire.MethodItemCompleted:
		l.onItem(line.Params, true)
	case wire.MethodTokenUsage:
		l.onUsage(line.Params)
	default:
		l.onDelta(method, line.Params)
	}
}

// concerns reports whether a line belongs to the open task. The first line of a turn of another client opens one.
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

// find returns the open call with an id, nil if there is none.
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

// encode encodes values that never fail to encode: texts, numbers and parsed JSON.
func encode(value any) json.RawMessage { return javascript.MustEncode(value) }
