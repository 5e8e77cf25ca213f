package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"harness/internal/lib/jcs"
)

// maxIntents is the maximum number of actions in one answer.
const maxIntents = 32

// Intent is one action that a worker requests, checked and scoped.
type Intent struct {
	ActionType     string
	Payload        json.RawMessage
	IdempotencyKey string
	// Agent is the requester; SourceSessionID and TurnID are its scope; JobID is the job that caused the request.
	Agent, SourceSessionID, TurnID, ProjectID, JobID string

	// refused is the reason why the intent is out of scope; such an intent is not executed.
	refused string
}

// ActionResult is the outcome of an action, with the field names of the wire.
type ActionResult struct {
	ActionType string `json:"actionType"`
	// performed, already_resolved, not_eligible, conflict, forbidden, invalid or failed
	Status   string          `json:"status"`
	Details  json.RawMessage `json:"details,omitempty"`
	Replayed bool            `json:"replayed,omitempty"`
}

// ActionExecutor runs actions and applies trust, capabilities and idempotency. Package extensions implements it.
type ActionExecutor interface {
	Execute(ctx context.Context, intent Intent) (ActionResult, error)
}

// scoped reports whether an action type may only change the session and turn of the job.
func scoped(actionType string) bool {
	return strings.HasPrefix(actionType, "transcript.") || strings.HasPrefix(actionType, "approval.") ||
		strings.HasPrefix(actionType, "turn.") ||
		strings.HasPrefix(actionType, "session.")
}

// parseIntents reads a worker's answer: exactly one JSON object {kind: "action_intents", intents: [...]}, bare or in
// one code fence.
func parseIntents(answer string, in Instruction) ([]Intent, error) {
	var envelope struct {
		Kind    string            `json:"kind"`
		Intents []json.RawMessage `json:"intents"`
	}
	decoder := json.NewDecoder(strings.NewReader(unfence(answer)))
	if err := decoder.Decode(&envelope); err != nil {
		return nil, fmt.Errorf("action intents: the answer is not one JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("action intents: the answer continues after the JSON object")
	}
	if envelope.Kind != ExpectIntents || envelope.Intents == nil {
		return nil, errors.New(`action intents: the answer must be {"kind":"action_intents","intents":[...]}`)
	}
	intents, err := checkIntents(envelope.Intents, in)
	if err != nil {
		return nil, fmt.Errorf("action intents: %w", err)
	}
	return intents, nil
}

// checkIntents reads each intent and records the reason for each one that is out of the job's scope.
func checkIntents(raws []json.RawMessage, in Instruction) ([]Intent, error) {
	if len(raws) > maxIntents {
		return nil, fmt.Errorf("%d intents, at most %d are allowed", len(raws), maxIntents)
	}
	intents := make([]Intent, 0, len(raws))
	for i, raw := range raws {
		intent, err := parseIntent(raw, in)
		if err != nil {
			return nil, fmt.Errorf("intent %d: %w", i, err)
		}
		intents = append(intents, intent)
	}
	return intents, nil
}

func parseIntent(raw json.RawMessage, in Instruction) (Intent, error) {
	var request struct {
		Kind           string          `json:"kind"`
		ActionType     string          `json:"actionType"`
		Payload        json.RawMessage `json:"payload"`
		IdempotencyKey string          `json:"idempotencyKey"`
	}
	if err := json.Unmarshal(raw, &request); err != nil {
		return Intent{}, err
	}
	if request.Kind != "action_request" || request.ActionType == "" {
		return Intent{}, errors.New("it must be an action_request with an actionType")
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(request.Payload, &payload); err != nil || payload == nil {
		return Intent{}, errors.New("its payload must be a JSON object")
	}
	intent := Intent{ActionType: request.ActionType, Payload: request.Payload, IdempotencyKey: request.IdempotencyKey,
		Agent: in.Agent, SourceSessionID: in.SourceSessionID, TurnID: in.TurnID, ProjectID: in.ProjectID}
	if scoped(request.ActionType) {
		if err := inScope(payload, in); err != nil {
			intent.refused = err.Error()
		}
	}
	if intent.IdempotencyKey == "" {
		intent.IdempotencyKey = deriveKey(intent)
	}
	return intent, nil
}

// inScope returns an error if a payload names another session or turn than the job's, at the top level or in a
// transcript entry.
func inScope(payload map[string]json.RawMessage, in Instruction) error {
	levels := []map[string]json.RawMessage{payload}
	var entry map[string]json.RawMessage
	if json.Unmarshal(payload["entry"], &entry) == nil && entry != nil {
		levels = append(levels, entry)
	}
	for _, level := range levels {
		for name, want := range map[string]string{"sessionId": in.SourceSessionID, "threadId": in.ThreadID,
			"turnId": in.TurnID} {
			raw, given := level[name]
			if !given {
				continue
			}
			var got string
			if err := json.Unmarshal(raw, &got); err != nil || got != want {
				return fmt.Errorf("scope: %s is %s, the job is about %q", name, raw, want)
			}
		}
	}
	return nil
}

// deriveKey returns the idempotency key of an intent without one. The key is equal for the same action of the same
// turn, in any order of JSON members. It excludes the job, because a retried or repeated job must not act twice.
func deriveKey(intent Intent) string {
	var canonical bytes.Buffer
	for _, part := range []string{intent.Agent, intent.SourceSessionID, intent.TurnID, intent.ActionType} {
		canonical.Write(encode(part))
		canonical.WriteByte('\n')
	}
	if payload, err := jcs.Transform(intent.Payload); err == nil {
		canonical.Write(payload)
	} else {
		canonical.Write(intent.Payload) // no canonical form (numbers, depth): use the payload as written
	}
	sum := sha256.Sum256(canonical.Bytes())
	return "auto:" + hex.EncodeToString(sum[:])
}

// unfence removes one markdown code fence around the content, which models often add.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	rest, fenced := strings.CutPrefix(text, "```")
	if !fenced || !strings.HasSuffix(rest, "```") {
		return text
	}
	_, body, found := strings.Cut(strings.TrimSuffix(rest, "```"), "\n")
	if !found {
		return text
	}
	return body
}
