package claude

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// translation translates one line into the canonical vocabulary. Its output depends only on the line, the state and the
// time.
type translation struct {
	*state
	at  int64
	out []runtime.Signal
}

// translate returns the meaning of a line and updates the state.
func (s *state) translate(e *event, at int64) []runtime.Signal {
	t := &translation{state: s, at: at}
	t.apply(e)
	return t.out
}

func (t *translation) emit(signals ...runtime.Signal) { t.out = append(t.out, signals...) }

// here returns the current place of output.
func (t *translation) here() wire.Place { return wire.Place{ThreadID: t.Thread, TurnID: t.Turn} }

// whole publishes the start and the end of an item at once.
func (t *translation) whole(item any) {
	t.emit(wire.ItemStarted(t.here(), item, t.at), wire.ItemCompleted(t.here(), item, t.at))
}

func (t *translation) begin(turn string) {
	t.Turn, t.Began, t.Failure, t.Over = runtime.KnownID(turn), t.at, "", false
	t.Message, t.Blocks, t.Silent, t.Diff = "", nil, "", ""
	t.emit(wire.TurnStarted(t.Thread, wire.Turn{ID: t.Turn, StartedAt: t.at, Model: t.Runs}))
}

// beginSelfStarted starts a turn without a request, or the turn reserved for a message.
func (t *translation) beginSelfStarted(turn string) {
	own := t.Owed == ""
	if !own {
		turn = t.Owed
	}
	t.begin(turn)
	if own {
		last := &t.out[len(t.out)-1]
		if began, is := last.Change.(runtime.TurnStarted); is {
			began.Own = true
			last.Change = began
		}
	}
}

func (t *translation) apply(e *event) {
	e.knownIDs()
	inner := e.Parent != nil // the item of its call shows a sub-agent's work
	switch e.Type {
	case "command_lifecycle":
		t.lifecycle(e)
	case "system":
		t.system(e)
	case "user":
		if e.IsReplay {
			t.echoed(e)
		} else if !inner {
			t.toolResults(e)
		}
	case "stream_event":
		if !inner {
			t.stream(&e.Event)
		}
	case "assistant":
		switch {
		case inner:
		case e.APIError:
			t.Failure = short(wire.Text(e.Error))
		default:
			t.Said = runtime.KnownID(e.UUID)
			t.answer(e)
		}
	case "control_request":
		if e.Request.Subtype == "can_use_tool" {
			t.ask(e)
		}
	case "control_cancel_request":
		t.resolved(e.RequestID, nil)
	case "control_response":
		// Only repetitions of the server's answers arrive here: they settle the request.
		t.resolved(e.Response.RequestID, e.Response.Response)
	case "conversation_reset":
		t.cleared(e)
	case "result":
		t.result(e)
	}
}

// cleared publishes that a user cleared the agent's conversation (/clear).
func (t *translation) cleared(e *event) {
	if e.UUID == "" {
		return
	}
	t.Clearing = true
	if t.Turn == "" {
		if e.User == "" {
			return // the conversation is empty
		}
		t.begin(e.User)
		t.paid(runtime.KnownID(e.User))
	}
	t.whole(wire.ConversationCleared(e.UUID))
}

// lifecycle tracks the server's message in the agent's queue.
func (t *translation) lifecycle(e *event) {
	id := runtime.KnownID(e.Command)
	switch e.State {
	case "queued":
		if t.busy() == "" {
			t.Owed = id
		}
	case "started":
		if t.Turn == "" {
			t.begin(e.Command)
		}
		t.Over = false
		t.paid(id)
	default: // completed, cancelled, ...
		if id != "" && t.Owed == id && t.Turn == "" {
			t.begin(e.Command)
			t.paid(id)
			t.end(wire.Turn{Status: runtime.TurnInterrupted})
		}
	}
}

// paid records that the agent started to process a message.
func (t *translation) paid(id string) {
	if t.Owed == id {
		t.Owed = ""
	}
}

// echoed handles a message that the agent repeats when it starts to process it.
func (t *translation) echoed(e *event) {
	if e.UUID == "" {
		return
	}
	if t.Turn == "" {
		t.begin(e.UUID)
	}
	t.paid(runtime.KnownID(e.UUID))
	said := e.Message.Content
	if len(said) > 1 && isReplayed(e.UUID) {
		said = said[1:] // its history
	}
	t.whole(userMessage(e.UUID, said))
}

// userMessage returns the item of a user's message.
func userMessage(id string, said parts) any {
	type shown struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		URL  string `json:"url,omitempty"`
	}
	content := []shown{}
	for _, p := range said {
		one := shown{Type: p.Type, Text: p.Text, URL: p.Source.URL}
		if p.Source.Data != "" {
			one.URL = "data:" + p.Source.Media + ";base64," + p.Source.Data
		}
		content = append(content, one)
	}
	return struct {
		Type    string  `json:"type"`
		ID      string  `json:"id"`
		Content []shown `json:"content"`
	}{wire.ItemUserMessage, id, content}
}

func (t *translation) system(e *event) {
	switch e.Subtype {
	case "init":
		if t.Clearing && len(e.Session) <= runtime.MaxID {
			t.Cleared, t.Clearing = e.Session, false
		}
		if len(e.Cwd) <= maxPath {
			t.Cwd = e.Cwd
		}
		t.Runs = short(e.Model)
		// A name without "claude-" is an alias for another model by design.
		if strings.HasPrefix(t.Model, "claude-") && e.Model != "" && e.Model != t.Model && t.Turn != "" {
			t.emit(wire.ModelRerouted(t.here(), t.Model, e.Model))
			t.Model = short(e.Model)
		}
	case "status":
		if e.Status != "requesting" {
			return
		}
		t.Over = false
		if t.Turn == "" {
			if n := len(e.Users); n > 0 {
				t.begin(e.Users[n-1])
			} else if e.UUID != "" {
				t.beginSelfStarted(e.UUID) // it starts a turn itself: background work has reported
			}
		}
	case "api_retry":
		if t.Turn != "" {
			reason := retried(e)
			failed := failure(fmt.Sprintf("%s; attempt %d of %d", reason, e.Attempt, e.MaxRetries), wire.Text(e.Error), e.ErrorStatus)
			failed.Details = &reason
			t.emit(wire.Retrying(t.here(), failed, e.Attempt, e.MaxRetries))
		}
	case "session_title_changed":
		t.emit(wire.ThreadNamed(t.Thread, e.Title))
	case "compact_boundary":
		if t.Turn != "" && e.UUID != "" {
			t.whole(struct {
				Type string `json:"type"`
				ID   string `json:"id"`
			}{"contextCompaction", e.UUID})
		}
	case "permission_denied":
		if call := t.call(e.ToolUse); call != nil {
			call.Denied = true
		}
	case "background_tasks_changed":
		t.backgroundChanged(e.Tasks)
	case "task_started":
		t.backgroundCalled(e.Task, e.ToolUse)
	}
}

func retried(e *event) string {
	switch {
	case e.ErrorStatus != 0:
		return "The model's server answered " + strconv.Itoa(e.ErrorStatus) + " (" + wire.Text(e.Error) + ")"
	default:
		return "The model's server could not be reached or broke off (" + wire.Text(e.Error) + ")"
	}
}

// blockID identifies a block of an answer.
func (t *translation) blockID(index int) string { return t.Message + ":" + strconv.Itoa(index) }

func (t *translation) stream(e *streamed) {
	if t.Turn == "" {
		return
	}
	switch e.Type {
	case "message_start":
		t.Message, t.Blocks = runtime.KnownID(e.Message.ID), nil
	case "content_block_start":
		t.start(e.Index, e.Block.Type)
	case "content_block_delta":
		kind, open := t.open(e.Index)
		switch {
		case !open:
		case e.Delta.Type == "text_delta" && kind == "text" && e.Delta.Text != "":
			t.emit(wire.MessageDelta(t.here(), t.blockID(e.Index), e.Delta.Text))
		case e.Delta.Type == "thinking_delta" && kind == "thinking" && e.Delta.Thinking != "":
			t.emit(wire.ReasoningDelta(t.here(), t.blockID(e.Index), 0, e.Delta.Thinking))
		}
	}
}

// start stores a block and publishes the start of its item, if it has one.
func (t *translation) start(index int, kind string) {
	if t.Message == "" || len(t.Blocks) >= maxBlocks {
		return
	}
	for _, b := range t.Blocks {
		if b.Index == index {
			return // it already exists
		}
	}
	switch kind {
	case "text":
		t.emit(wire.ItemStarted(t.here(), wire.AgentMessage(t.blockID(index), ""), t.at))
	case "thinking":
		t.emit(wire.ItemStarted(t.here(), wire.Reasoning(t.blockID(index), nil, nil), t.at))
	default:
		kind = "other"
	}
	t.Blocks = append(t.Blocks, block{Index: index, Kind: kind})
}

func (t *translation) open(index int) (kind string, open bool) {
	for _, b := range t.Blocks {
		if b.Index == index {
			return b.Kind, !b.Done
		}
	}
	return "", false
}

// answer handles the messages of an answer: one per complete block, in order, with the id of the answer.
func (t *translation) answer(e *event) {
	if t.Turn == "" {
		return
	}
	for _, p := range e.Message.Content {
		switch p.Type {
		case "text":
			id := t.finish(e, p.Type)
			if id == "" {
				if p.Text == "" || e.UUID == "" {
					continue
				}
				id = e.UUID // no deltas came before it
				t.emit(wire.ItemStarted(t.here(), wire.AgentMessage(id, ""), t.at))
			}
			t.emit(wire.ItemCompleted(t.here(), wire.AgentMessage(id, p.Text), t.at))
		case "thinking":
			id := t.finish(e, p.Type)
			if id == "" {
				if e.UUID == "" {
					continue
				}
				id = e.UUID
				t.emit(wire.ItemStarted(t.here(), wire.Reasoning(id, nil, nil), t.at))
			}
			t.emit(wire.ItemCompleted(t.here(), wire.Reasoning(id, nil, []string{p.Thinking}), t.at))
		case "tool_use":
			t.callTool(p)
		}
	}
}

// finish closes the first open block of a kind and returns the id of its item; "" when there is none.
func (t *translation) finish(e *event, kind string) string {
	if runtime.KnownID(e.Message.ID) != t.Message {
		return ""
	}
	for i, b := range t.Blocks {
		if b.Kind == kind && !b.Done {
			t.Blocks[i].Done = true
			return t.blockID(b.Index)
		}
	}
	return ""
}

// resolved publishes that a request is closed. response is the server's, nil when the agent withdrew the request.
func (t *translation) resolved(requestID string, response json.RawMessage) {
	one, open := t.close(requestID)
	if !open {
		return
	}
	given := readAnswer(response)
	if len(given.Updated) > 0 && one.Rule.Tool != "" {
		// The user approves the actual input, which may differ from the requested one.
		t.Allowed = keep(t.Allowed, maxAllowed, ruleOf(one.Rule.Tool, readInput(given.Input)))
	}
	if call := t.call(one.Call); call != nil {
		call.Denied = call.Denied || given.Behavior == ""
		if given.Input != nil && one.Input != "" && one.Input != inputID(given.Input) {
			call.keepInput(given.Input) // edited; Claude Code has rewritten paths in the rest
		}
	}
	id, _ := json.Marshal(requestID) // a string always encodes
	t.emit(wire.RequestResolved(t.Thread, id))
	if t.Over && len(t.Asked) == 0 {
		t.end(wire.Turn{Status: runtime.TurnDone})
	}
}
