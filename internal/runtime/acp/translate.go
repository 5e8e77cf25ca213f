package acp

import (
	"bytes"
	"encoding/json"
	"slices"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
)

// translator translates an agent's output into the canonical vocabulary. The result depends only on the line and the
// state. It is not safe for concurrent use.
type translator struct {
	profile *Profile
	// tools is the agent's name for the tools of this server, "" for none.
	tools []string
	state state
	// threads are the sessions of the conversations that this process opened or loaded, by the agent's ids.
	threads map[string]string
	// allowed is the answer to the previous line's request, when the server approved it without a user.
	allowed any
	// upTo is the end of the current line in the process's output. unsaid means that the server's own lines changed
	// the state since it was encoded.
	upTo   int64
	unsaid bool
}

// params are the known parameters of notifications and requests.
type params struct {
	SessionID string          `json:"sessionId"`
	Update    update          `json:"update"`
	ToolCall  update          `json:"toolCall"`
	Options   []option        `json:"options"`
	RequestID json.RawMessage `json:"requestId"`
	Message   string          `json:"message"`
	Mode      string          `json:"mode"`
	Schema    json.RawMessage `json:"requestedSchema"`
	ToolID    string          `json:"toolCallId"`
}

// option is an option of a permission request.
type option struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once or reject_always
}

// begin stores and publishes a turn before its message is sent.
func (t *translator) begin(native string, of conversation, user any, at int64) []runtime.Signal {
	of.StartedAt = at
	if t.state.Conversations == nil {
		t.state.Conversations = map[string]*conversation{}
	}
	t.state.Conversations[native], t.unsaid = &of, true
	return []runtime.Signal{
		wire.TurnStarted(of.Thread, wire.Turn{ID: of.Turn, StartedAt: at}),
		wire.ItemStarted(of.position(), user, at), wire.ItemCompleted(of.position(), user, at),
	}
}

// params returns the parameters of a line.
func (l *line) params() (p params) {
	_ = json.Unmarshal(l.Params, &p) // the decoder skips members of an unexpected type
	p.Update.ToolCallID, p.Update.MessageID = runtime.KnownID(p.Update.ToolCallID), runtime.KnownID(p.Update.MessageID)
	return p
}

// said translates a line of the agent; changed reports whether the state changed beyond an addition to a text.
func (t *translator) said(l *line, at int64) (signals []runtime.Signal, changed bool) {
	p := l.params()
	switch {
	case l.Method == "":
		native, of := t.state.turn(l.turn())
		if of == nil {
			return nil, false
		}
		delete(t.state.Conversations, native)
		return t.end(of, l, at), true
	case len(l.ID) > 0 && !bytes.Equal(l.ID, []byte("null")):
		return t.asks(l, &p, at)
	case l.Method == words.Withdraw:
		of, request := t.state.asking(p.RequestID)
		if of == nil {
			return nil, false
		}
		return of.resolve(request), true
	case l.Method == methodSDKMessage:
		return t.retried(t.state.Conversations[p.SessionID], l.Params), false
	case l.Method != words.Update:
		return nil, false
	}
	of := t.state.Conversations[p.SessionID]
	if p.Update.Kind == "session_info_update" && p.Update.Title != "" && p.Update.Title != t.profile.FirstTitle {
		if thread := t.threads[p.SessionID]; thread != "" {
			signals = append(signals, wire.ThreadNamed(thread, p.Update.Title))
		}
	}
	if of == nil {
		return signals, false // messages of past turns repeat when a conversation loads
	}
	more, changed := t.update(of, &p.Update, at)
	return append(signals, more...), changed
}

// update translates an update in a turn.
func (t *translator) update(of *conversation, u *update, at int64) (signals []runtime.Signal, changed bool) {
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		signals = t.answered(of, "", false, at)
		if image, is := u.image(); is {
			return append(signals, of.showImage(image, at)...), true
		}
		more, plain := t.grow(of, u, at)
		return append(signals, more...), len(signals) > 0 || !plain
	case "tool_call", "tool_call_update":
		// "in_progress" means nothing: OpenCode sends it before the approval request, and output may follow the
		// request.
		signals = t.answered(of, u.ToolCallID, ended(u.Status), at)
		more, plain := t.call(of, u, at)
		return append(signals, more...), len(signals) > 0 || !plain
	case "plan":
		steps := make([]wire.Step, 0, len(u.Entries))
		for _, entry := range u.Entries {
			status := map[string]string{"in_progress": "inProgress", "completed": "completed"}[entry.Status]
			if status == "" {
				status = "pending"
			}
			steps = append(steps, wire.Step{Step: entry.Content, Status: status})
		}
		return []runtime.Signal{wire.PlanUpdated(of.position(), steps...)}, false
	case "usage_update":
		changed = u.Size != 0 && u.Size != of.Window
		of.Window = max(of.Window, u.Size)
		return nil, changed
	case "session_info_update":
		if failed := u.Meta.Codex.Error; failed != nil {
			failure := wire.Failure{Message: failed.Message, Kind: failed.Kind, Details: failed.Details}
			signals = []runtime.Signal{wire.Failed(of.position(), failure, failed.WillRetry)}
		}
		return signals, false
	}
	return nil, false
}

// shown returns a part of a message as text.
func (u *update) shown() string {
	var content block
	_ = json.Unmarshal(u.Content, &content) // a block of another shape has none
	return content.shown()
}

// image returns an image with its bytes in a part of a message.
func (u *update) image() (image wire.Picture, is bool) {
	var content block
	_ = json.Unmarshal(u.Content, &content) // a block of another shape is not an image
	is = u.Kind == "agent_message_chunk" && content.Type == "image" && content.Data != ""
	return wire.NewPicture(content.Mime, content.Data), is
}

// showImage publishes an image, after the text before it.
func (of *conversation) showImage(image wire.Picture, at int64) []runtime.Signal {
	of.Items++
	shown := wire.AgentImage(of.Turn+":m"+jsonInt(of.Items), image)
	return append(of.closeText(at), wire.ItemStarted(of.position(), shown, at), wire.ItemCompleted(of.position(), shown, at))
}

// grow appends to the open text, or starts one; plain reports whether it only appended.
func (t *translator) grow(of *conversation, u *update, at int64) (signals []runtime.Signal, plain bool) {
	added, thought := u.shown(), u.Kind == "agent_thought_chunk"
	if added == "" {
		return nil, true
	}
	alone := t.profile.ErrorsAsText && u.MessageID == "" // each text without a message is separate
	if open := of.Text; open != nil && (open.Thought != thought || open.Message != u.MessageID || alone ||
		len(open.all)+len(added) > maxText) {
		signals = of.closeText(at)
	}
	in := of.position()
	begins := of.Text == nil
	if begins {
		of.Items++
		of.Text = &text{ID: of.Turn + ":m" + jsonInt(of.Items), Thought: thought, Message: u.MessageID}
		signals = append(signals, wire.ItemStarted(in, of.Text.item(), at))
	}
	of.Text.add(added, max(maxText, len(added)))
	if begins {
		of.Text.keep(t.upTo, maxText)
	}
	if thought {
		signals = append(signals, wire.ReasoningDelta(in, of.Text.ID, 0, added))
	} else {
		signals = append(signals, wire.MessageDelta(in, of.Text.ID, added))
	}
	if len(added) > maxText { // too long to remember
		signals = append(signals, of.closeText(at)...)
	}
	return signals, len(signals) == 1
}

func (t *text) item() any {
	switch said := string(t.all); {
	case t.Thought && said == "":
		return wire.Reasoning(t.ID, nil, nil)
	case t.Thought:
		return wire.Reasoning(t.ID, nil, []string{said})
	default:
		return wire.AgentMessage(t.ID, said)
	}
}

func (of *conversation) closeText(at int64) []runtime.Signal {
	if of.Text == nil {
		return nil
	}
	item := of.Text.item()
	of.Text = nil
	return []runtime.Signal{wire.ItemCompleted(of.position(), item, at)}
}

// call handles an update of a tool call; plain reports whether it only appended to the output.
func (t *translator) call(of *conversation, u *update, at int64) (signals []runtime.Signal, plain bool) {
	if u.ToolCallID == "" || t.hides(u) {
		return nil, true
	}
	one := of.tool(u.ToolCallID)
	if one == nil {
		if slices.Contains(of.Ended, u.ToolCallID) && u.Kind != "tool_call" {
			return nil, true // an update of an ended call
		}
		if one, signals = t.open(of, u.ToolCallID, at); u.Kind != "tool_call" {
			signals = append(signals, of.closeText(at)...)
		}
	}
	if u.Kind == "tool_call" {
		signals = append(signals, of.closeText(at)...)
	}
	plain = one.From > 0 && u.onlyPutsOut(one)
	added := one.merge(u, t.profile, t.upTo)
	if u.Status != "pending" && u.Status != "" || one.known() {
		signals = append(signals, t.show(of, one, at)...)
	}
	plain = plain && len(signals) == 0
	if added != "" && one.Type == wire.ItemCommand {
		signals = append(signals, wire.CommandOutput(of.position(), one.Item, added))
	}
	if !ended(u.Status) {
		return signals, plain
	}
	status := wire.StatusCompleted
	if u.Status == "failed" {
		status, one.Declined = wire.StatusFailed, one.Declined || t.profile.refused(one.output())
	}
	if called := t.profile.replaces(one); called != "" {
		status, one.Declined, one.Name = wire.StatusFailed, true, bounds(called, maxText)
	}
	return append(signals, t.close(of, one, status, at)...), false
}

// hides reports whether clients see the request of a call instead of the call.
func (t *translator) hides(u *update) bool {
	name := u.Meta.Claude.Tool
	if name == "" {
		name = u.Name
	}
	return name != "" && slices.Contains(t.profile.QuestionTools, name)
}

// open adds a call. If there are too many, it closes the oldest one.
func (t *translator) open(of *conversation, id string, at int64) (one *tool, signals []runtime.Signal) {
	if len(of.Tools) >= maxTools {
		oldest := of.Tools[0]
		signals = append(t.show(of, oldest, at), t.close(of, oldest, wire.StatusFailed, at)...)
	}
	one = &tool{ID: id}
	of.Tools = append(of.Tools, one)
	return one, signals
}

// show publishes the start of a call's item, once.
func (t *translator) show(of *conversation, one *tool, at int64) []runtime.Signal {
	if one.Item != "" {
		return nil
	}
	// An agent may reuse an id, in a later turn or in this one.
	one.Item, one.Type = of.Turn+":"+one.ID, one.shownAs()
	if slices.Contains(of.Ended, one.ID) {
		of.Items++
		one.Item += ":" + jsonInt(of.Items)
	}
	return []runtime.Signal{wire.ItemStarted(of.position(), one.item(t.profile, of.Cwd, wire.StatusInProgress), at)}
}

// close publishes the end of a call's item.
func (t *translator) close(of *conversation, one *tool, status string, at int64) (signals []runtime.Signal) {
	if one.Declined && status != wire.StatusCompleted {
		status = wire.StatusDeclined
	}
	of.Tools = slices.DeleteFunc(of.Tools, func(other *tool) bool { return other == one })
	of.Ended = keepLast(of.Ended, one.ID, maxEnded)
	signals = []runtime.Signal{wire.ItemCompleted(of.position(), one.item(t.profile, of.Cwd, status), at)}
	if status == wire.StatusCompleted && one.Type == wire.ItemFileChange {
		var edits []wire.FileEdit
		if one.Edits != nil {
			edits = one.fileEdits()
		}
		if diff := wire.TurnDiff(of.Diff, of.Cwd, edits); diff != of.Diff && len(diff) <= maxDiff {
			of.Diff = diff
			signals = append(signals, wire.DiffUpdated(of.position(), diff))
		}
	}
	return signals
}
