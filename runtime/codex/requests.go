package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"harness/runtime"
)

const (
	methodCommandApproval = "item/commandExecution/requestApproval"
	methodFileApproval    = "item/fileChange/requestApproval"
	methodPatchLegacy     = "applyPatchApproval"
	methodExecLegacy      = "execCommandApproval"
	methodToolInput       = "item/tool/requestUserInput"
	methodToolInputLegacy = "tool/requestUserInput"
	methodToolCall        = "item/tool/call"
)

// interactive are the requests a person or a client's tool answers. Every other request is refused at once, so that the turn goes on.
var interactive = map[string]runtime.RequestKind{
	methodCommandApproval: runtime.RequestApproval,
	methodFileApproval:    runtime.RequestApproval,
	methodPatchLegacy:     runtime.RequestApproval,
	methodExecLegacy:      runtime.RequestApproval,
	methodToolInput:       runtime.RequestToolInput,
	methodToolInputLegacy: runtime.RequestToolInput,
	methodToolCall:        runtime.RequestToolCall,
	methodPermissions:     runtime.RequestApproval,
	methodElicitation:     runtime.RequestToolInput, // or an approval, see requestKind
}

// requestKind tells what a request waits for; false when nobody can answer it.
func requestKind(method string, params json.RawMessage) (runtime.RequestKind, bool) {
	kind, ok := interactive[method]
	if method == methodElicitation && elicitationOf(params).approval() {
		kind = runtime.RequestApproval
	}
	return kind, ok
}

// requested is what a request means; false when nobody can answer it.
func requested(method string, params json.RawMessage) (runtime.InteractiveRequested, bool) {
	kind, ok := requestKind(method, params)
	if !ok {
		return runtime.InteractiveRequested{}, false
	}
	r := runtime.InteractiveRequested{Kind: kind, Summary: summary(method, params)}
	if method == methodElicitation {
		elicited := elicitationOf(params)
		if elicited.approval() {
			r.Decisions = elicited.decisions()
		} else {
			r.Questions = questions(elicited.Schema)
		}
	} else {
		r.Decisions = offeredDecisions(params)
	}
	r.Asked = asked(method, params, r.Decisions)
	return r, true
}

// offeredDecisions is the list of decisions codex offers for a command, nil when it offers none.
func offeredDecisions(params json.RawMessage) json.RawMessage {
	var p struct {
		Decisions json.RawMessage `json:"availableDecisions"`
	}
	if json.Unmarshal(params, &p) != nil || !bytes.HasPrefix(p.Decisions, []byte("[")) {
		return nil
	}
	return p.Decisions
}

// summary is the one line codex-manager shows for a request.
func summary(method string, params json.RawMessage) string {
	var p struct {
		Command   json.RawMessage   `json:"command"`
		Questions []json.RawMessage `json:"questions"`
		Tool      string            `json:"tool"`
	}
	_ = json.Unmarshal(params, &p)
	switch method {
	case methodCommandApproval, methodExecLegacy:
		if command := commandText(p.Command); command != "" {
			return "Command approval required: " + command
		}
		return "Command approval required"
	case methodFileApproval, methodPatchLegacy:
		return "File change approval required"
	case methodToolInput, methodToolInputLegacy:
		return "Tool input required (" + counted(len(p.Questions), "question") + ")"
	case methodElicitation:
		return elicitationOf(params).summary()
	case methodPermissions:
		return permissionsSummary(params)
	case methodToolCall:
		return "Tool call requested: " + firstOf(clean(p.Tool), "unknown")
	}
	return method
}

// commandText reads a command given as text or, in the legacy request, as a list of words.
func commandText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return clean(text)
	}
	var words []string
	_ = json.Unmarshal(raw, &words)
	return clean(strings.Join(words, " "))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// encodeReply is the result this version of codex expects for a settled request.
func encodeReply(v version, ref runtime.RequestRef, reply runtime.Reply) (json.RawMessage, error) {
	kind, ok := requestKind(ref.Method, ref.Params)
	if !ok {
		kind = ref.Kind
	}
	if err := checkReplyParts(ref, &reply); err != nil {
		return nil, err
	}
	switch {
	case ref.Method == methodElicitation:
		if err := checkDecision(reply); err != nil {
			return nil, err
		}
		return encodeElicited(elicitationOf(ref.Params), reply)
	case len(reply.Raw) > 0:
		return reply.Raw, nil
	}
	switch kind {
	case runtime.RequestApproval:
		if err := checkDecision(reply); err != nil {
			return nil, err
		}
		if len(reply.Choice) > 0 {
			return chosen(offeredDecisions(ref.Params), reply)
		}
		if ref.Method == methodPermissions {
			return encodePermissions(ref.Params, reply)
		}
		return encode(map[string]any{"decision": nativeDecision(v, ref.Method, reply)})
	case runtime.RequestToolInput:
		if reply.Decision != "" && reply.Decision != "accept" {
			return json.RawMessage(`{"status":` + string(rawString(reply.Decision)) + `}`), nil
		}
		return encode(map[string]json.RawMessage{"answers": orElse(reply.Answers, `{}`)})
	case runtime.RequestToolCall:
		return encode(struct {
			Success      bool            `json:"success"`
			ContentItems json.RawMessage `json:"contentItems"`
		}{reply.Success, orElse(reply.ContentItems, `[]`)})
	}
	return nil, fmt.Errorf("codex request %s is of no kind that can be answered; pass a raw answer or a refusal", ref.Method)
}

// checkReplyParts refuses what codex has no place for, and puts a chosen option into codex's words.
func checkReplyParts(ref runtime.RequestRef, reply *runtime.Reply) error {
	for field, value := range map[string]json.RawMessage{"updatedInput": reply.UpdatedInput, "remember": reply.Remember} {
		if len(value) > 0 {
			return &runtime.ReplyError{Field: field, Message: "codex has no place for it"}
		}
	}
	if reply.Option == "" {
		return nil
	}
	if len(reply.Choice) > 0 {
		return &runtime.ReplyError{Field: "option", Message: "give option or choice, not both"}
	}
	option, offered := ref.Asked.Option(reply.Option)
	switch {
	case !offered && len(ref.Asked.Options) == 0:
		return &runtime.ReplyError{Field: "option", Message: "this request offers no options to choose from"}
	case !offered:
		return &runtime.ReplyError{Field: "option", Message: fmt.Sprintf("it has to be one of %s", optionIDs(ref.Asked.Options))}
	case option.Decision != reply.Decision:
		return &runtime.ReplyError{Field: "option", Message: fmt.Sprintf("with this option the decision is %q, not %q", option.Decision, reply.Decision)}
	case ref.Method == methodElicitation:
		reply.Scope = option.Scope
	default:
		reply.Choice = choiceOf(offeredDecisions(ref.Params), reply.Option)
	}
	return nil
}

func optionIDs(options []runtime.Option) string {
	ids := make([]string, len(options))
	for i, option := range options {
		ids[i] = option.ID
	}
	return strings.Join(ids, ", ")
}

// nativeDecision is a checked decision in codex's words. Of its requests only the oldest ones take a reason of a refusal, and later versions
// of codex insist on one there.
func nativeDecision(v version, method string, reply runtime.Reply) any {
	legacy := method == methodExecLegacy || method == methodPatchLegacy
	pick := func(modern, old string) string {
		if legacy {
			return old
		}
		return modern
	}
	switch {
	case reply.Decision == actionAccept && reply.Scope == "session":
		return pick("acceptForSession", "approved_for_session")
	case reply.Decision == actionAccept:
		return pick(actionAccept, "approved")
	case reply.Decision == actionCancel:
		return pick(actionCancel, "abort")
	case legacy && v.deniesWithReason():
		return map[string]any{"denied": map[string]string{"rejection": firstOf(reply.Message, "rejected by user")}}
	}
	return pick(actionDecline, "denied")
}

func orElse(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(fallback)
	}
	return raw
}
