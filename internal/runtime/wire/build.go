package wire

import (
	"encoding/json"

	"harness/internal/lib/javascript"
	"harness/internal/runtime"
)

// Notification builds a notification of the vocabulary: the signal that Read returns, without process and time. It
// panics if params do not encode as JSON.
func Notification(method string, params any) runtime.Signal { return build(method, nil, params) }

// Request builds a request; id is its native id, JSON.
func Request(method string, id json.RawMessage, params any) runtime.Signal {
	return build(method, id, params)
}

func build(method string, id json.RawMessage, params any) runtime.Signal {
	var at runtime.Layout
	place := func(line, value []byte, span *runtime.Span) []byte {
		*span = runtime.Span{len(line), len(line) + len(value)}
		return append(line, value...)
	}
	line := place([]byte(`{"method":`), encode(method), &at.Method)
	if id != nil {
		line = place(append(line, `,"id":`...), id, &at.ID)
	}
	line = place(append(line, `,"params":`...), encode(params), &at.Params)
	return Read(append(line, '}'), method, at)
}

// encode encodes types of this package, or JSON.
func encode(value any) []byte { return javascript.MustEncode(value) }

// Turn has the data of a turn's start and end. Times are in ms, 0 if unknown (whole seconds on the wire).
type Turn struct {
	ID                     string
	Status                 runtime.TurnStatus
	Error                  *Failure
	StartedAt, CompletedAt int64
	// Model is the model at the start of the turn, "" if unknown.
	Model string
}

// Failure is the reason of a failure. Kind is a JSON value of the vocabulary ("unauthorized", "usageLimitExceeded",
// ...), nil if none fits. Status is the HTTP status of the model provider, 0 for none. OfProvider means that the
// provider is the cause, for runtimes without the status.
type Failure struct {
	Message    string          `json:"message"`
	Kind       json.RawMessage `json:"codexErrorInfo"`
	Details    *string         `json:"additionalDetails"`
	Status     int             `json:"httpStatusCode,omitempty"`
	OfProvider bool            `json:"ofProvider,omitempty"`
}

// TurnStarted reports that a turn started.
func TurnStarted(threadID string, turn Turn) runtime.Signal {
	turn.Status = runtime.TurnInProgress
	return turnLine(MethodTurnStarted, threadID, turn)
}

// TurnCompleted reports that a turn ended.
func TurnCompleted(threadID string, turn Turn) runtime.Signal {
	return turnLine(MethodTurnCompleted, threadID, turn)
}

func turnLine(method, threadID string, turn Turn) runtime.Signal {
	type described struct {
		ID          string             `json:"id"`
		Items       []string           `json:"items"`
		Status      runtime.TurnStatus `json:"status"`
		Error       *Failure           `json:"error"`
		StartedAt   *int64             `json:"startedAt"`
		CompletedAt *int64             `json:"completedAt"`
		DurationMS  *int64             `json:"durationMs"`
	}
	out := described{ID: turn.ID, Items: []string{}, Status: turn.Status, Error: turn.Error,
		StartedAt: seconds(turn.StartedAt), CompletedAt: seconds(turn.CompletedAt)}
	if turn.StartedAt != 0 && turn.CompletedAt != 0 {
		took := turn.CompletedAt - turn.StartedAt
		out.DurationMS = &took
	}
	return Notification(method, struct {
		ThreadID string    `json:"threadId"`
		Turn     described `json:"turn"`
		Model    string    `json:"model,omitempty"`
	}{threadID, out, turn.Model})
}

func seconds(ms int64) *int64 {
	if ms == 0 {
		return nil
	}
	ms /= 1000
	return &ms
}

// Place identifies the place of output in a conversation.
type Place struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// ItemStarted reports that an item started; item is one of the item types of this package, or JSON of that shape; at
// is in ms.
func ItemStarted(in Place, item any, at int64) runtime.Signal {
	return Notification(MethodItemStarted, struct {
		Item any `json:"item"`
		Place
		At int64 `json:"startedAtMs"`
	}{item, in, at})
}

// ItemCompleted reports that an item ended; the arguments are as for ItemStarted.
func ItemCompleted(in Place, item any, at int64) runtime.Signal {
	return Notification(MethodItemCompleted, struct {
		Item any `json:"item"`
		Place
		At int64 `json:"completedAtMs"`
	}{item, in, at})
}

type delta struct {
	Place
	ItemID  string `json:"itemId"`
	Delta   string `json:"delta"`
	Content *int   `json:"contentIndex,omitempty"`
	Summary *int   `json:"summaryIndex,omitempty"`
}

// MessageDelta appends to the text of an agent's message.
func MessageDelta(in Place, itemID, added string) runtime.Signal {
	return Notification(MethodMessageDelta, delta{Place: in, ItemID: itemID, Delta: added})
}

// CommandOutput appends to a command's output.
func CommandOutput(in Place, itemID, added string) runtime.Signal {
	return Notification(MethodCommandOutput, delta{Place: in, ItemID: itemID, Delta: added})
}

// ReasoningDelta appends to one of the texts of a reasoning item.
func ReasoningDelta(in Place, itemID string, index int, added string) runtime.Signal {
	return Notification(MethodReasoningDelta, delta{Place: in, ItemID: itemID, Delta: added, Content: &index})
}

// SummaryDelta appends to one of the summaries of a reasoning item.
func SummaryDelta(in Place, itemID string, index int, added string) runtime.Signal {
	return Notification(MethodSummaryDelta, delta{Place: in, ItemID: itemID, Delta: added, Summary: &index})
}

// Step is a step of a plan. Status is pending, inProgress or completed.
type Step struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// PlanUpdated has the current plan of a turn.
func PlanUpdated(in Place, steps ...Step) runtime.Signal {
	return Notification(MethodTurnPlan, struct {
		Place
		Explanation *string `json:"explanation"`
		Plan        []Step  `json:"plan"`
	}{in, nil, append([]Step{}, steps...)})
}

// DiffUpdated has all changes of a turn so far, as a unified diff.
func DiffUpdated(in Place, diff string) runtime.Signal {
	return Notification(MethodTurnDiff, struct {
		Place
		Diff string `json:"diff"`
	}{in, diff})
}

// Tokens counts a model's input and output tokens. Input includes cached tokens, Output includes reasoning.
type Tokens struct {
	Total     int64 `json:"totalTokens"`
	Input     int64 `json:"inputTokens"`
	Cached    int64 `json:"cachedInputTokens"`
	Output    int64 `json:"outputTokens"`
	Reasoning int64 `json:"reasoningOutputTokens"`
}

// Plus returns the sum of both.
func (t Tokens) Plus(more Tokens) Tokens {
	return Tokens{Total: t.Total + more.Total, Input: t.Input + more.Input, Cached: t.Cached + more.Cached,
		Output: t.Output + more.Output, Reasoning: t.Reasoning + more.Reasoning}
}

// Since returns the tokens between two counts of a conversation. If the count began again, it returns those of the last
// request.
func (t Tokens) Since(before, last Tokens) Tokens {
	if t.Total < before.Total || t.Input < before.Input || t.Cached < before.Cached || t.Output < before.Output ||
		t.Reasoning < before.Reasoning {
		return last
	}
	return Tokens{Total: t.Total - before.Total, Input: t.Input - before.Input, Cached: t.Cached - before.Cached,
		Output: t.Output - before.Output, Reasoning: t.Reasoning - before.Reasoning}
}

// TokenUsage has the usage of a conversation in total and of its last request; window is the model's context in tokens,
// 0 if unknown.
func TokenUsage(in Place, total, last Tokens, window int64) runtime.Signal {
	return TokenUsageOf(in, "", total, last, window)
}

// TokenUsageOf is TokenUsage with its model, "" if unknown.
func TokenUsageOf(in Place, model string, total, last Tokens, window int64) runtime.Signal {
	usage := struct {
		Total  Tokens `json:"total"`
		Last   Tokens `json:"last"`
		Window *int64 `json:"modelContextWindow"`
	}{Total: total, Last: last}
	if window != 0 {
		usage.Window = &window
	}
	return Notification(MethodTokenUsage, struct {
		Place
		Usage any    `json:"tokenUsage"`
		Model string `json:"model,omitempty"`
	}{in, usage, model})
}

// ThreadNamed reports a new name of a conversation.
func ThreadNamed(threadID, name string) runtime.Signal {
	return Notification(MethodThreadNamed, struct {
		ThreadID string `json:"threadId"`
		Name     string `json:"threadName"`
	}{threadID, name})
}

// Failed reports a failure in a turn; with retry the runtime retries by itself.
func Failed(in Place, failure Failure, retry bool) runtime.Signal {
	return Notification(MethodError, struct {
		Place
		WillRetry bool    `json:"willRetry"`
		Error     Failure `json:"error"`
	}{in, retry, failure})
}

// Retrying is Failed with a retry by the runtime. attempt counts the retries from 1. of is their total, 0 if unknown.
func Retrying(in Place, failure Failure, attempt, of int) runtime.Signal {
	return Notification(MethodError, struct {
		Place
		WillRetry bool    `json:"willRetry"`
		Error     Failure `json:"error"`
		Retry     retry   `json:"retry"`
	}{in, true, failure, retry{attempt, of}})
}

// ModelRerouted reports that another model answers than the requested one.
func ModelRerouted(in Place, from, to string) runtime.Signal {
	return Notification(MethodModelRerouted, struct {
		Place
		From string `json:"fromModel"`
		To   string `json:"toModel"`
	}{in, from, to})
}

// RequestResolved reports that the runtime no longer waits for the answer to a request; id is its native id, JSON.
func RequestResolved(threadID string, id json.RawMessage) runtime.Signal {
	return Notification(MethodRequestResolved, struct {
		ThreadID  string          `json:"threadId"`
		RequestID json.RawMessage `json:"requestId"`
	}{threadID, id})
}

// ConversationCleared is the item for a cleared conversation of the agent.
func ConversationCleared(id string) any {
	return struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}{ItemCleared, id}
}
