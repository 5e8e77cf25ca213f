package opencode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
	"harness/internal/runtime/wire"
)

// translation translates one line into the canonical vocabulary. It depends only on the line, the state, the time,
// and the session of each conversation (name; "" for an unknown one, which keeps its native id).
type translation struct {
	*state
	at   int64
	name func(native string) string
	dir  string
	// sent reports the messages of this server.
	sent func(message string) bool
	// past means that the event and its deltas happened before.
	past bool
	// out are the signals so far.
	out []runtime.Signal
}

// translate translates a line and updates the state. known is false for a line about no turn.
func (s *state) translate(line bridge.Line, at int64, name func(native string) string) (signals []runtime.Signal,
	known bool) {
	t := &translation{state: s, at: at, name: name, dir: line.Directory, sent: func(string) bool { return line.Sent }}
	switch {
	case line.Snapshot != nil:
		return t.snapshot(*line.Snapshot), true
	case line.Refused != "":
		t.settled(line.Refused, "")
		return t.out, true
	case line.Event == nil:
		return nil, false
	}
	var e event
	if json.Unmarshal(line.Event, &e) != nil {
		return nil, false
	}
	var about said
	_ = json.Unmarshal(e.Properties, &about) // the decoder skips members of an unexpected type
	known = s.Conversations[about.SessionID] != nil
	t.event(e, about)
	if in := t.asker(about.SessionID); in != nil {
		in.lastOutput = time.Now() // not at: the duration does not depend on the date
	}
	return t.out, known || len(t.out) > 0
}

func (t *translation) emit(signals ...runtime.Signal) { t.out = append(t.out, signals...) }

func (t *translation) event(e event, about said) {
	in := t.Conversations[about.SessionID]
	switch e.Type {
	case "session.created":
		t.child(about.Info)
		return
	case "session.updated":
		t.updated(about, in)
		return
	case "message.updated":
		t.message(about.SessionID, about.Info)
		return
	case "permission.asked":
		t.permission(e.Properties)
		return
	case "question.asked":
		t.question(e.Properties)
		return
	case "permission.replied", "question.replied", "question.rejected":
		t.settled(about.RequestID, about.Reply)
		return
	}
	if in == nil {
		return
	}
	switch e.Type {
	case "message.part.updated":
		t.part(in, about.Part)
	case "message.part.delta":
		t.delta(in, about)
	case "todo.updated":
		t.plan(in, about.Todos)
	case "session.status":
		t.status(in, about.Status)
	case "session.error":
		in.fail(about.Error)
		if in.Idle > 0 && about.Error != nil && about.Error.Name != errorAborted {
			t.end(about.SessionID, in) // it was cut off: its last message gets no end
		}
	case "session.idle":
		t.idle(about.SessionID, in)
	}
}

// child records that a sub-agent has a separate conversation: its requests belong to the parent's turn.
func (t *translation) child(raw json.RawMessage) {
	var info sessionInfo
	_ = json.Unmarshal(raw, &info) // it has no parent then
	if parent := t.asker(info.ParentID); parent != nil && info.ID != "" && fit(info.ID) && len(parent.Children) < maxChildren {
		parent.Children = append(parent.Children, info.ID)
	}
}

// asker returns the conversation with the turn of another one: itself, or its parent; nil for none.
func (t *translation) asker(native string) *conversation {
	if in := t.Conversations[native]; in != nil {
		return in
	}
	for _, in := range t.Conversations {
		if slices.Contains(in.Children, native) {
			return in
		}
	}
	return nil
}

func (t *translation) updated(about said, in *conversation) {
	var info sessionInfo
	if json.Unmarshal(about.Info, &info) != nil || info.ParentID != "" {
		return
	}
	if in != nil && in.Used == (wire.Tokens{}) {
		in.Base = info.Tokens.wire()
	}
	if info.Title == "" || !isTitle(info.Title) || in != nil && in.Title == cut(info.Title) {
		return
	}
	thread := t.name(about.SessionID)
	if in != nil {
		in.Title, thread = cut(info.Title), in.Thread
	}
	if thread != "" {
		t.emit(wire.ThreadNamed(thread, info.Title))
	}
}

// message handles a new or completed message.
func (t *translation) message(native string, raw json.RawMessage) {
	var info messageInfo
	if json.Unmarshal(raw, &info) != nil || info.ID == "" || !fit(native, info.ID) {
		return
	}
	in := t.Conversations[native]
	if info.Role == "user" {
		t.prompted(native, in, info)
		return
	}
	if in == nil || !slices.Contains(in.Users, info.ParentID) || info.ID < in.Message {
		return
	}
	t.flushUsers(in)
	if in.Message != info.ID {
		t.closeItems(in)
		in.Message, in.Finished, in.Done, in.Idle = info.ID, false, nil, 0
	}
	in.Answers = max(in.Answers, info.ParentID)
	in.Finished = in.Finished || info.finished()
	in.fail(info.Error)
}

// prompted handles a user's message: it starts a turn, or belongs to the running one.
func (t *translation) prompted(native string, in *conversation, info messageInfo) {
	switch {
	case in == nil && (info.Summary != nil || slices.Contains(t.Ended, info.ID)):
		return // OpenCode describes an old one again
	case in == nil && (t.asker(native) != nil || t.name(native) == "" && !t.sent(info.ID)):
		return // an agent's message to its sub-agent, or one that this server did not send
	case in == nil && len(t.Conversations) >= maxConversations:
		return
	case in == nil:
		in = &conversation{Thread: cmp.Or(t.name(native), native), Dir: t.dir, Turn: info.ID, Started: info.Time.Created}
		if t.Conversations == nil {
			t.Conversations = map[string]*conversation{}
		}
		t.Conversations[native] = in
		t.emit(wire.TurnStarted(in.Thread, wire.Turn{ID: in.Turn, StartedAt: in.Started}))
	case slices.Contains(in.Users, info.ID):
		return
	}
	if len(in.AwaitingText) >= maxUsers {
		t.flushUsers(in)
	}
	in.Users, in.AwaitingText = keepLast(in.Users, info.ID, maxUsers), append(in.AwaitingText, info.ID)
}

// flushUsers publishes messages without text.
func (t *translation) flushUsers(in *conversation) {
	for _, id := range in.AwaitingText {
		t.user(in, id)
	}
	in.AwaitingText = nil
}

func (t *translation) user(in *conversation, id string, texts ...string) {
	item := wire.UserMessageWithImages(id, in.pictures[id], texts...)
	delete(in.pictures, id)
	t.emit(wire.ItemStarted(in.in(), item, t.at), wire.ItemCompleted(in.in(), item, t.at))
}

func (t *translation) plan(in *conversation, todos []todo) {
	words := map[string]string{"pending": "pending", "in_progress": "inProgress", "completed": "completed"}
	var steps []wire.Step
	for _, one := range todos {
		if word := words[one.Status]; word != "" { // a cancelled step is no longer part of the plan
			steps = append(steps, wire.Step{Step: one.Content, Status: word})
		}
	}
	t.emit(wire.PlanUpdated(in.in(), steps...))
}

func (t *translation) status(in *conversation, now status) {
	switch {
	case now.Type == "busy":
		in.Busy, in.Idle = true, 0
	case now.Type == "retry" && now.Attempt != in.Retry:
		in.Busy, in.Retry = true, now.Attempt
		t.emit(wire.Retrying(in.in(), wire.Failure{Message: now.Message}, now.Attempt, 0))
	}
}

// fail stores why a turn will end. The first reason stays, except that an abort replaces it: a user requested that.
func (t *conversation) fail(e *nativeError) {
	if e == nil || e.Name == "" || t.Failure != nil && e.Name != errorAborted {
		return
	}
	said, _, _ := strings.Cut(e.Data.Message, "\n    at ") // without the position in its code
	t.Failure = &failure{Name: cut(e.Name), Message: cut(said), Status: e.Data.StatusCode,
		RetryAfter: cut(e.Data.Headers.RetryAfter)}
}

const (
	errorAborted  = "MessageAbortedError"
	errorOverflow = "ContextOverflowError"
	errorAuth     = "ProviderAuthError"
)

// idle ends the turn, unless more output is due. After an abort or an error OpenCode is idle before it has reported
// the end of its last message. It is idle again after that. If it has not started to work, it is not idle again. If
// it is idle twice without that end, it has broken off.
func (t *translation) idle(native string, in *conversation) {
	switch {
	case in.Message == "" && !in.Busy && in.Failure == nil:
		return
	case in.Message == "" || in.Finished:
	case t.past:
		return // it may have ended by now
	case in.Idle == 0:
		in.Idle++
		return
	default:
		if in.Failure == nil {
			in.Failure = &failure{Name: "UnknownError", Message: "OpenCode stopped working without an end of its answer."}
		}
	}
	t.end(native, in)
}

func (t *translation) end(native string, in *conversation) {
	t.flushUsers(in)
	t.closeItems(in)
	for _, open := range in.Asked {
		t.emit(wire.RequestResolved(in.Thread, rawText(open.ID)))
	}
	turn := wire.Turn{ID: in.Turn, Status: runtime.TurnDone, StartedAt: in.Started, CompletedAt: max(t.at, in.Started)}
	if f := in.Failure; f != nil && f.Name == errorAborted && in.Unresponsive != "" {
		turn.Status, turn.Error = runtime.TurnFailed, &wire.Failure{Message: in.Unresponsive}
	} else if f != nil && f.Name == errorAborted {
		turn.Status = runtime.TurnInterrupted
	} else if f != nil {
		turn.Status, turn.Error = runtime.TurnFailed, f.wire()
	}
	t.emit(wire.TurnCompleted(in.Thread, turn))
	delete(t.Conversations, native)
	t.Ended = append(t.Ended, in.Users[max(0, len(in.Users)-maxEnded):]...)
	t.Ended = slices.Clone(t.Ended[max(0, len(t.Ended)-maxEnded):])
}

func (f *failure) wire() *wire.Failure {
	kind := ""
	switch {
	case f.Name == errorOverflow:
		kind = "contextWindowExceeded"
	case f.Name == errorAuth, f.Status == 401, f.Status == 403:
		kind = "unauthorized"
	case f.Status == 429:
		kind = "usageLimitExceeded"
	case f.Status >= 500:
		kind = "internalServerError"
	}
	out := &wire.Failure{Message: f.Message, Status: f.Status}
	if f.RetryAfter != "" {
		after := "retry after " + f.RetryAfter
		out.Details = &after
	}
	if out.Message == "" {
		out.Message = f.Name
	}
	if kind != "" {
		out.Kind = rawText(kind)
	}
	return out
}

func rawText(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a text encodes
	return raw
}
