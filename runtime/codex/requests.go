package codex

import (
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

// encodeReply is the result codex expects for a settled request.
func encodeReply(ref runtime.RequestRef, reply runtime.Reply) (json.RawMessage, error) {
	if len(reply.Raw) > 0 {
		return reply.Raw, nil
	}
	kind, ok := interactive[ref.Method]
	if !ok {
		kind = ref.Kind
	}
	switch kind {
	case runtime.RequestApproval:
		decision, err := nativeDecision(ref.Method, reply)
		return json.RawMessage(`{"decision":` + string(rawString(decision)) + `}`), err
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

func nativeDecision(method string, reply runtime.Reply) (string, error) {
	legacy := method == methodExecLegacy || method == methodPatchLegacy
	pick := func(modern, old string) (string, error) {
		if legacy {
			return old, nil
		}
		return modern, nil
	}
	switch {
	case reply.Decision == "accept" && reply.Scope == "session":
		return pick("acceptForSession", "approved_for_session")
	case reply.Decision == "accept":
		return pick("accept", "approved")
	case reply.Decision == "decline":
		return pick("decline", "denied")
	case reply.Decision == "cancel":
		return pick("cancel", "abort")
	}
	return "", fmt.Errorf("decision %q is unknown; accept, decline and cancel are allowed", reply.Decision)
}

func orElse(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(fallback)
	}
	return raw
}
