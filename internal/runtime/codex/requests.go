package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"harness/internal/runtime"
	"harness/internal/runtime/form"
	"harness/internal/runtime/wire"
)

// The oldest methods for approvals and questions. Only old versions and old clients of codex use them.
const (
	methodPatchLegacy     = "applyPatchApproval"
	methodExecLegacy      = "execCommandApproval"
	methodToolInputLegacy = "tool/requestUserInput"
)

// canonical returns the vocabulary's name of a request.
func canonical(method string) string {
	switch method {
	case methodPatchLegacy:
		return wire.MethodApproveFileChange
	case methodExecLegacy:
		return wire.MethodApproveCommand
	case methodToolInputLegacy:
		return wire.MethodAskUser
	}
	return method
}

// requested translates a request. It returns false for an unanswerable one, which the connection refuses at once so
// that the turn continues.
func requested(method string, params json.RawMessage) (runtime.InteractiveRequested, bool) {
	r, ok := wire.Requested(canonical(method), params)
	if !ok {
		return r, false
	}
	if method == wire.MethodElicit {
		elicited := elicitationOf(params)
		if elicited.tooLong() {
			return r, false
		}
		r.Summary, r.Decisions = elicited.summary(), nil
		if elicited.approval() {
			r.Kind, r.Decisions = runtime.RequestApproval, elicited.decisions()
			r.Asked.Subject, r.Asked.Tool = runtime.SubjectTool, elicited.server+"/"+elicited.tool
			if len(elicited.arguments) <= runtime.LongItem {
				r.Asked.Arguments = elicited.arguments
			}
		} else {
			r.Questions = encodeQuestions(form.Of(elicited.schema))
		}
	}
	r.Asked.Options = options(r.Decisions)
	return r, true
}

func encodeQuestions(asked form.Form) json.RawMessage {
	encoded, err := encode(asked.Questions())
	if err != nil {
		return nil // strings and flags always encode
	}
	return bytes.TrimSpace(encoded)
}

// encodeReply returns the result that this version of codex expects for a reply.
func encodeReply(v version, ref runtime.RequestRef, reply runtime.Reply) (json.RawMessage, error) {
	kind := ref.Kind
	if r, ok := requested(ref.Method, ref.Params); ok {
		kind = r.Kind
	}
	if err := checkReplyParts(ref, &reply); err != nil {
		return nil, err
	}
	switch {
	case ref.Method == wire.MethodElicit:
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
			return chosen(wire.Offered(ref.Params), reply)
		}
		if ref.Method == wire.MethodApprovePermissions {
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
	return nil, fmt.Errorf("codex request %s is of no kind that can be answered; pass a raw answer or a refusal",
		ref.Method)
}

// checkReplyParts refuses parts that codex does not support, and translates a chosen option.
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
	option, err := ref.Asked.Chosen(*reply)
	if err != nil {
		return err
	}
	if ref.Method == wire.MethodElicit {
		reply.Scope = option.Scope
	} else {
		reply.Choice = choiceOf(wire.Offered(ref.Params), reply.Option)
	}
	return nil
}

// nativeDecision returns a checked decision in codex's format. Only the oldest requests have a reason of a refusal,
// and later versions require one there.
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
		return map[string]any{"denied": map[string]string{"rejection": cmp.Or(reply.Message, "rejected by user")}}
	}
	return pick(actionDecline, "denied")
}

func orElse(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(fallback)
	}
	return raw
}
