// Package jobs implements the product's job types. In agent_instruction a hidden worker session carries out an
// instruction. In suggest_request a worker session proposes the next message of a chat.
//
// It owns worker sessions (agent_workers), suggested requests (suggested_requests), and the final state of the
// transcript entries that a job promised. It must never know HTTP, a provider's protocol, or how an extension runs.
package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/queue"
)

// TypeAgentInstruction is the job type that extensions use.
const TypeAgentInstruction = "agent_instruction"

// The answers that a job expects from a worker's turn.
const (
	// ExpectNone: no answer; the worker acts while its turn runs.
	ExpectNone = "none"
	// ExpectText: a text, which becomes a transcript entry of the source session.
	ExpectText = "assistant_text"
	// ExpectIntents: one JSON object of action requests, which the job checks and executes.
	ExpectIntents = "action_intents"
)

// maxTargets is the maximum number of supplementalTargets of a job.
const maxTargets = 8

// Instruction is the payload of an agent_instruction job, in the order of the wire.
type Instruction struct {
	Agent           string     `json:"agent"`
	JobKind         string     `json:"jobKind"`
	ProjectID       string     `json:"projectId"`
	SourceSessionID string     `json:"sourceSessionId"`
	ThreadID        string     `json:"threadId"`
	TurnID          string     `json:"turnId"`
	ItemID          string     `json:"itemId,omitempty"`
	ApprovalID      string     `json:"approvalId,omitempty"`
	AnchorItemID    string     `json:"anchorItemId,omitempty"`
	Bootstrap       *Bootstrap `json:"bootstrapInstruction,omitempty"`
	Text            string     `json:"instructionText"`
	DedupeKey       string     `json:"dedupeKey,omitempty"`
	ExpectResponse  string     `json:"expectResponse"`
	Targets         []Target   `json:"supplementalTargets,omitempty"`
	// FallbackIntents are executed when the worker's answer performs no action, because it is missing or none of its
	// actions is possible.
	FallbackIntents []json.RawMessage `json:"fallbackIntents,omitempty"`
	// Completion ends the job early: when that suggestion is stored or its time expires.
	Completion *Completion `json:"completionSignal,omitempty"`
	// FallbackDraft is the user's own draft. It becomes the suggestion if the worker has no better one.
	FallbackDraft string `json:"fallbackSuggestionDraft,omitempty"`
	// Model and Effort override the agent's policy for this instruction.
	Model  string `json:"model,omitempty"`
	Effort string `json:"effort,omitempty"`
}

// Bootstrap is an instruction that a worker gets once per key, before the first job that names it.
type Bootstrap struct {
	Key  string `json:"key"`
	Text string `json:"instructionText"`
}

// Target is a transcript entry of the source session that the job must bring into a final state.
type Target struct {
	MessageID        string   `json:"messageId"`
	Type             string   `json:"type"`
	PlaceholderTexts []string `json:"placeholderTexts,omitempty"`
	CompleteFallback string   `json:"completeFallback,omitempty"`
	ErrorFallback    string   `json:"errorFallback,omitempty"`
	CanceledFallback string   `json:"canceledFallback,omitempty"`
}

// Completion names the signal that ends a job before its turn ends; the only kind is suggested_request.
type Completion struct {
	Kind       string `json:"kind"`
	RequestKey string `json:"requestKey"`
}

const completionSuggestion = "suggested_request"

// parseInstruction reads and checks a payload.
func parseInstruction(raw json.RawMessage) (Instruction, error) {
	var in Instruction
	if err := json.Unmarshal(raw, &in); err != nil {
		return Instruction{}, fmt.Errorf("payload is not an agent instruction: %w", err)
	}
	if in.ExpectResponse == "" {
		in.ExpectResponse = ExpectNone
	}
	for name, text := range map[string]string{"agent": in.Agent, "jobKind": in.JobKind, "projectId": in.ProjectID,
		"sourceSessionId": in.SourceSessionID,
		"threadId":        in.ThreadID, "turnId": in.TurnID, "instructionText": in.Text} {
		if strings.TrimSpace(text) == "" {
			return Instruction{}, errors.New(name + " must be a text that is not blank")
		}
	}
	switch in.ExpectResponse {
	case ExpectNone, ExpectText, ExpectIntents:
	default:
		return Instruction{}, errors.New("expectResponse must be none, assistant_text or action_intents")
	}
	if in.Bootstrap != nil && (strings.TrimSpace(in.Bootstrap.Key) == "" || strings.TrimSpace(in.Bootstrap.Text) == "") {
		return Instruction{}, errors.New("bootstrapInstruction needs key and instructionText")
	}
	if in.Completion != nil && (in.Completion.Kind != completionSuggestion || in.Completion.RequestKey == "") {
		return Instruction{}, errors.New("completionSignal must be {kind: suggested_request, requestKey}")
	}
	if in.Effort != "" && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh"}, in.Effort) {
		return Instruction{}, errors.New("effort must be none, minimal, low, medium, high or xhigh")
	}
	if len(in.FallbackIntents) > 0 {
		if in.ExpectResponse != ExpectIntents {
			return Instruction{}, errors.New("fallbackIntents need expectResponse action_intents")
		}
		if _, err := checkIntents(in.FallbackIntents, in); err != nil {
			return Instruction{}, fmt.Errorf("fallbackIntents: %w", err)
		}
	}
	keys := []string{"agent", in.Agent, "threadId", in.ThreadID, "turnId", in.TurnID}
	if in.Completion != nil {
		keys = append(keys, "completionSignal.requestKey", in.Completion.RequestKey)
	}
	for _, target := range in.Targets {
		keys = append(keys, "supplementalTargets.messageId", target.MessageID)
	}
	if err := database.CheckKeys(keys...); err != nil {
		return Instruction{}, err
	}
	return in, checkTargets(in.Targets)
}

func checkTargets(targets []Target) error {
	if len(targets) > maxTargets {
		return fmt.Errorf("supplementalTargets holds %d targets, at most %d are allowed", len(targets), maxTargets)
	}
	seen := map[string]bool{}
	for _, target := range targets {
		if target.MessageID == "" || target.Type == "" {
			return errors.New("a supplemental target needs messageId and type")
		}
		if seen[target.MessageID] {
			return errors.New("supplementalTargets names message " + target.MessageID + " twice")
		}
		seen[target.MessageID] = true
	}
	return nil
}

// validateInstruction returns the payload to store: known members in the order of the wire.
func validateInstruction(raw json.RawMessage) (json.RawMessage, error) {
	in, err := parseInstruction(raw)
	if err != nil {
		return nil, err
	}
	return encode(in), nil
}

// NewRequest is the request for an extension's job: one at a time per owner and key.
func NewRequest(kind, projectID string, sourceSessionID *string, payload json.RawMessage) queue.Request {
	request := queue.Request{Type: kind, ProjectID: projectID, SourceSessionID: sourceSessionID, Payload: payload}
	switch kind {
	case TypeAgentInstruction:
	case TypeSuggestRequest:
		if sourceSessionID != nil {
			key := suggestKey(*sourceSessionID)
			request.DedupeKey = &key
		}
		return request
	default:
		return request
	}
	in, err := parseInstruction(payload)
	if err != nil {
		return request // the queue refuses the request and returns the reason
	}
	key := in.DedupeKey
	if key == "" {
		key = in.ThreadID + ":" + in.TurnID + ":" + in.JobKind
	}
	key = projectID + ":" + key
	request.DedupeKey = &key
	if sourceSessionID == nil {
		request.SourceSessionID = &in.SourceSessionID
	}
	return request
}

// encode is for values that always encode: texts, numbers and parsed JSON.
func encode(value any) json.RawMessage { return javascript.MustEncode(value) }
