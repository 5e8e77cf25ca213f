package tasks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"harness/internal/content/artifact"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/tools"
	"harness/stream"
)

// call is a tool call that has begun but not ended.
type call struct {
	ID      string `json:"id"`
	Native  string `json:"native,omitempty"`
	Attempt int    `json:"attempt"`
	Hash    string `json:"hash"`
	Name    string `json:"name"`
	// Request is our id of the call's open request, "" for none; Kind is its kind.
	Request string              `json:"request,omitempty"`
	Kind    runtime.RequestKind `json:"kind,omitempty"`
	// Alone means that the call is only a request: it ends with the answer.
	Alone bool `json:"alone,omitempty"`
	// Owned means a call of a tool of this server, with separate records.
	Owned   bool `json:"owned,omitempty"`
	Started bool `json:"started,omitempty"`
	// Waits means that it needs approval and has none yet.
	Waits   bool            `json:"waits,omitempty"`
	Sources []tools.Opinion `json:"sources,omitempty"`
	// By is the actor of the decision.
	By *decider `json:"by,omitempty"`
	// Said is the number of bytes of output so far.
	Said int `json:"said,omitempty"`
}

// identity is part of every event of a call.
type identity struct {
	CallID    string `json:"tool_call_id"`
	Native    string `json:"runtime_tool_call_id,omitempty"`
	Attempt   int    `json:"attempt"`
	InputHash string `json:"input_hash"`
}

func (c *call) identity() identity { return identity{c.ID, c.Native, c.Attempt, c.Hash} }

func (l *Log) snapshot(c *call, decision tools.Result) tools.Snapshot {
	return tools.Snapshot{Mode: tools.Mode(cmp.Or(l.state.Task.Mode, l.levels().mode())), Decision: decision,
		Sources: append([]tools.Opinion{}, c.Sources...)}
}

// open emits that an agent requested a tool call.
func (l *Log) open(c call, input json.RawMessage) *call {
	l.ensureStarted()
	t := l.state.Task
	if t.Attempts == nil {
		t.Attempts = map[string]int{}
	}
	t.Attempts[c.ID]++
	c.Attempt, c.Hash = t.Attempts[c.ID], hash(input)
	t.Calls = append(t.Calls, &c)
	l.emit(CallRequested, struct {
		identity
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}{c.identity(), c.Name, input})
	return &c
}

// denied is the reason of a denial without one.
const denied = "permission denied"

func (l *Log) drop(c *call) {
	l.state.Task.Calls = slices.DeleteFunc(l.state.Task.Calls, func(one *call) bool { return one == c })
}

func (l *Log) evaluate(c *call, opinion tools.Opinion) {
	c.Sources = append(c.Sources, opinion)
	l.emit(CallEvaluated, struct {
		identity
		tools.Opinion
	}{c.identity(), opinion})
}

// approveCall emits, once, that a call was approved and runs. who is "" if it needed no approval.
func (l *Log) approveCall(c *call, who, why string) {
	if c.Started {
		return
	}
	if len(c.Sources) == 0 {
		l.evaluate(c, tools.Opinion{Source: tools.SourceRuntime, Result: tools.Allow, Rule: "runtime_policy"})
	}
	c.Started = true
	l.emit(CallApproved, struct {
		identity
		Snapshot tools.Snapshot `json:"policy_snapshot"`
		Actor    string         `json:"actor,omitempty"`
		Reason   string         `json:"reason,omitempty"`
	}{c.identity(), l.snapshot(c, tools.Allow), who, why})
	l.emit(CallStarted, c.identity())
}

// deny emits that a call was denied, which ends it.
func (l *Log) deny(c *call, who, why string) {
	l.drop(c)
	l.emit(CallDenied, struct {
		identity
		Name     string         `json:"name"`
		Reason   string         `json:"reason"`
		Snapshot tools.Snapshot `json:"policy_snapshot"`
		Actor    string         `json:"actor,omitempty"`
	}{c.identity(), c.Name, why, l.snapshot(c, tools.Deny), who})
}

// completion describes how a call of a runtime's tool ended.
type completion struct {
	identity
	Name         string          `json:"name"`
	ExecutedBy   string          `json:"executed_by"`
	ExecutionEnv string          `json:"execution_env"`
	Snapshot     tools.Snapshot  `json:"policy_snapshot"`
	Sandbox      any             `json:"sandbox"`
	Preview      json.RawMessage `json:"result_preview"`
	Ref          *artifact.Ref   `json:"result_ref,omitempty"`
	IsError      bool            `json:"is_error"`
	ExitCode     json.RawMessage `json:"exit_code,omitempty"`
	DurationMS   json.RawMessage `json:"duration_ms,omitempty"`
}

func (l *Log) complete(c *call, end completion) {
	l.approveCall(c, "", "")
	l.drop(c)
	end.identity, end.Name, end.Snapshot = c.identity(), c.Name, l.snapshot(c, tools.Allow)
	end.ExecutedBy, end.ExecutionEnv = tools.SourceRuntime, "runtime_internal"
	end.Sandbox = l.levels().confines()
	l.emit(CallCompleted, end)
}

// commandTool is the runtime tool with calls that may outlive their turn.
const commandTool = "runtime.command_execution"

// abandon ends a call with its task. A command that outlives a successful turn has not failed.
func (l *Log) abandon(c *call, outcome Outcome) {
	rule, why := "task_ended", "the task ended before the call did"
	if outcome.Status == Stopped {
		rule, why = "task_stopped", "the task was stopped: "+outcome.Reason
	}
	if runs := c.Started || c.Request == ""; runs && c.Name == commandTool && outcome.Status == Completed {
		l.complete(c, completion{Preview: encode(map[string]string{"background": "the command goes on in the background of the " +
			"session, which lists it as activity.background"})})
		return
	}
	if c.Started {
		l.complete(c, completion{IsError: true, Preview: encode(map[string]string{"error": "cancelled: " + why})})
		return
	}
	l.evaluate(c, tools.Opinion{Source: tools.SourceHarness, Result: tools.Deny, Rule: rule})
	l.deny(c, "", why)
}

// ownServer is the agents' name for this server's own tools, whose calls their records report.
const ownServer = "harness"

// onToolItem handles the start or the end of a runtime's tool.
func (l *Log) onToolItem(kind string, raw json.RawMessage, done bool) {
	item := wire.ReadCall(kind, raw)
	if item.ID == "" || kind == wire.ItemToolCall && item.Server == ownServer {
		return
	}
	id := l.callID(item.ID)
	c := l.find(id)
	if c == nil {
		if done && l.state.Task.Attempts[id] > 0 {
			return // it was denied, or is already in the events
		}
		c = l.open(call{ID: id, Native: item.ID, Name: item.Name}, l.ownInput(item.Name, item.Input))
	}
	if !done {
		return
	}
	// A call that failed while it needed approval has not run: its turn was stopped, or its agent abandoned it.
	unanswered := c.Waits && item.Failed && item.ExitCode == nil
	if (item.Status == wire.StatusDeclined || unanswered) && !c.Started {
		l.evaluate(c, tools.Opinion{Source: tools.SourceRuntime, Result: tools.Deny, Rule: "runtime_policy"})
		l.deny(c, "", refusalOf(item))
		return
	}
	l.approveCall(c, "", "")
	result, ref := l.shorten("tool_result", item.Result)
	if item.Said != nil {
		stdout, whole := result, ref
		if !bytes.Equal(item.Said, item.Result) {
			stdout, whole = l.shorten("tool_output", item.Said)
		}
		l.emit(CallSaid, struct {
			identity
			Stdout json.RawMessage `json:"stdout"`
			Ref    *artifact.Ref   `json:"stdout_ref,omitempty"`
		}{c.identity(), stdout, whole})
	}
	l.complete(c, completion{ExitCode: item.ExitCode, DurationMS: item.DurationMS, IsError: item.Failed, Preview: result, Ref: ref})
}

// maxRefusal bounds the bytes of a runtime's text in the reason of a denial.
const maxRefusal = 500

// refusalOf returns why a runtime did not run a call, in its own words if it gave a reason.
func refusalOf(item wire.Call) string {
	const unrun = "the runtime did not run it"
	said := wire.Text(item.Result)
	if message := wire.Members(item.Result, "message"); said == "" && len(message) > 0 {
		said = wire.Text(message[0])
	}
	if said = strings.TrimSpace(said); said == "" || len(said) > maxRefusal {
		return unrun
	}
	return unrun + ": " + said
}

// callID returns our id of a runtime's call.
func (l *Log) callID(native string) string { return l.about.Runtime + ":" + native }

// onToolOutput handles the output of a running tool.
func (l *Log) onToolOutput(native, delta string) {
	c := l.find(l.callID(native))
	if c == nil {
		return
	}
	l.approveCall(c, "", "")
	c.Said += len(delta)
	l.emit(CallOutput, struct {
		identity
		Stream string `json:"stream"`
		Delta  string `json:"delta"`
	}{c.identity(), "stdout", delta})
}

// onRequest handles a request to a person, or to this server about its own tool.
func (l *Log) onRequest(meta *stream.Meta, method string, params json.RawMessage) {
	asked, can := wire.Requested(method, params)
	if meta.Request == nil || !can {
		return
	}
	ref := meta.Request
	// For a tool of this server, the id is our own id of the call.
	if c := l.find(ref.ItemID); c != nil && c.Owned {
		c.Request, c.Kind = ref.ID, asked.Kind
		return
	}
	id, alone := l.callID(ref.ItemID), false
	if ref.ItemID == "" || asked.Kind == runtime.RequestToolInput {
		id, alone = "request:"+ref.ID, true
	}
	c := l.find(id)
	if c == nil {
		name, input := askedName(asked, alone), asked.Asked.Arguments
		if asked.Kind == runtime.RequestToolInput {
			input = wire.Pick(params, "questions", "message", "requestedSchema", "url")
		}
		if wire.Known(input) == nil {
			input = json.RawMessage("{}")
		}
		c = l.open(call{ID: id, Native: ref.ItemID, Name: name, Alone: alone}, l.ownInput(name, input))
	}
	c.Request, c.Kind, c.Waits = ref.ID, asked.Kind, true
	l.evaluate(c, tools.Opinion{Source: tools.SourceRuntime, Result: tools.Ask, Rule: "approval_policy"})
}

// clientTools are the prefixes of tools that the client runs; questionTool is the agent's question.
const (
	clientTools  = "client."
	questionTool = "runtime.request_user_input"
)

// ownInput returns the displayed and hashed input of a runtime's tool, without the path of the session's folder. Inputs
// for the client stay unchanged.
func (l *Log) ownInput(name string, input json.RawMessage) json.RawMessage {
	if strings.HasPrefix(name, clientTools) || name == questionTool {
		return input
	}
	return neutral(input, l.state.Facts.Folders)
}

func askedName(asked runtime.InteractiveRequested, alone bool) string {
	switch {
	case asked.Kind == runtime.RequestToolInput:
		return questionTool
	case asked.Kind == runtime.RequestToolCall:
		return clientTools + asked.Asked.Tool
	case asked.Asked.Subject == runtime.SubjectCommand && !alone:
		return "runtime.command_execution"
	case asked.Asked.Subject == runtime.SubjectTool:
		return "runtime." + asked.Asked.Tool
	}
	return "runtime." + wire.Snake(string(asked.Asked.Subject))
}

// onResolution handles the end of a request.
func (l *Log) onResolution(record *journal.Record) {
	var resolution struct {
		ApprovalID string `json:"approvalId"`
		RequestID  string `json:"requestId"`
		Status     string `json:"status"`
		Decision   string `json:"decision"`
		Message    string `json:"message"`
		Success    bool   `json:"success"`
	}
	if l.state.Task == nil || json.Unmarshal(record.Payload, &resolution) != nil {
		return
	}
	id := resolution.ApprovalID + resolution.RequestID
	at := slices.IndexFunc(l.state.Task.Calls, func(c *call) bool { return c.Request == id })
	if id == "" || at < 0 {
		return
	}
	c := l.state.Task.Calls[at]
	kind := c.Kind
	c.Request, c.Kind = "", ""
	defer l.because(c, record.Actor)()
	if c.Owned {
		return // its own records have the result
	}
	// A failed tool of a client did run; a refused one has a message with the reason.
	allowed := resolution.Decision == "accept" || kind == runtime.RequestToolCall && (resolution.Success || resolution.Message == "")
	switch {
	case resolution.Status != "resolved" && c.Alone:
		l.evaluate(c, tools.Opinion{Source: tools.SourceHarness, Result: tools.Deny, Rule: "expired"})
		l.deny(c, "", "it is asked no more")
	case resolution.Status != "resolved":
		// The runtime continues without an answer, or ends.
	case allowed:
		c.Waits = false
		l.evaluate(c, tools.Opinion{Source: tools.SourceUser, Result: tools.Allow, Rule: "user_approved"})
		l.approveCall(c, record.Actor, resolution.Message)
		if c.Alone {
			l.complete(c, completion{Preview: json.RawMessage("null")})
		}
	default:
		l.evaluate(c, tools.Opinion{Source: tools.SourceUser, Result: tools.Deny, Rule: "user_denied"})
		if c.Started {
			return // it was approved before and ends separately
		}
		l.deny(c, record.Actor, cmp.Or(resolution.Message, denied))
	}
}

// onToolRecord handles a record of a tool of this server, which is already an event.
func (l *Log) onToolRecord(record *journal.Record) {
	if l.state.Task == nil || !strings.HasPrefix(record.Type, "tool.") {
		return
	}
	var about struct {
		identity
		Name  string `json:"name"`
		Actor string `json:"actor"`
	}
	if json.Unmarshal(record.Payload, &about) != nil || about.CallID == "" {
		return
	}
	c := l.find(about.CallID)
	switch {
	case c == nil && record.Type == CallRequested:
		l.ensureStarted()
		c = &call{ID: about.CallID, Native: about.Native, Attempt: about.Attempt, Hash: about.InputHash, Name: about.Name,
			Owned: true}
		l.state.Task.Calls = append(l.state.Task.Calls, c)
	case c == nil:
		return // the call ended with its task
	case record.Type == CallEvaluated:
		var opinion tools.Opinion
		if json.Unmarshal(record.Payload, &opinion) == nil {
			c.Sources = append(c.Sources, opinion) // in case its task ends first
		}
	case record.Type == CallStarted:
		c.Started = true
	case record.Type == CallDenied || record.Type == CallCompleted:
		l.drop(c)
	}
	if about.Actor != "" { // a person decided it
		defer l.because(c, about.Actor)()
	}
	l.emit(record.Type, record.Payload)
}

// hash returns the hash of JSON in canonical form, "" if it has none.
func hash(value json.RawMessage) string {
	sum, err := tools.Hash(value)
	if err != nil {
		return ""
	}
	return sum
}

func itoa(n int) string { return strconv.Itoa(n) }

// valid makes foreign texts storable.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
