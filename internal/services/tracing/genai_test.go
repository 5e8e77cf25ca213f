package tracing

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/stream"
)

// OB-16: the names are those of the registry, version 1.41.
func TestGenAINamesAreTheRegistrys(t *testing.T) {
	t.Parallel()
	for own, registered := range map[attribute.Key]attribute.Key{
		genOperation: semconv.GenAIOperationNameKey, genProvider: semconv.GenAIProviderNameKey,
		genAgent: semconv.GenAIAgentNameKey, genConversation: semconv.GenAIConversationIDKey,
		genRequestModel: semconv.GenAIRequestModelKey, genResponseModel: semconv.GenAIResponseModelKey,
		genInputTokens: semconv.GenAIUsageInputTokensKey, genOutputTokens: semconv.GenAIUsageOutputTokensKey,
		genCachedTokens: semconv.GenAIUsageCacheReadInputTokensKey, genToolName: semconv.GenAIToolNameKey,
		genToolCall: semconv.GenAIToolCallIDKey, genToolType: semconv.GenAIToolTypeKey, genError: semconv.ErrorTypeKey,
	} {
		if own != registered {
			t.Errorf("%s is called %s", own, registered)
		}
	}
	for own, registered := range map[string]string{
		OperationAgent: string(genaiconv.OperationNameInvokeAgent), operationTool: string(genaiconv.OperationNameExecuteTool),
		otherError: semconv.ErrorTypeOther.Value.AsString(),
	} {
		if own != registered {
			t.Errorf("%s is called %s", own, registered)
		}
	}
}

// runtimeRecord is a line of a runtime as this server stored it.
func runtimeRecord(t *testing.T, at int64, method, itemID string, params any) journal.Record {
	t.Helper()
	payload, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	_, layout, ok := wire.LayoutOf(payload)
	if !ok {
		t.Fatalf("%s is no line", payload)
	}
	event := journal.Event{Type: stream.EventNotification, SessionID: "S", TurnID: "T", ItemID: itemID, Source: "claude",
		Time: at, Payload: payload}
	stream.SetMeta(&event, &stream.Meta{Layout: &layout})
	return journal.Record{Event: event}
}

type object = map[string]any

func turnLines(t *testing.T) []journal.Record {
	t.Helper()
	usage := func(total, last object) object {
		return object{"tokenUsage": object{"total": total, "last": last}}
	}
	asked := journal.Event{Type: stream.EventRequest, SessionID: "S", TurnID: "T", Payload: []byte(`{}`),
		Known: &stream.Meta{Request: &stream.RequestRef{ID: "R", Kind: "approval", TurnID: "T", ItemID: "I", CreatedAt: 1500}}}
	resolved := journal.Event{Type: eventApprovalResolved, SessionID: "S", TurnID: "T", Time: 1750,
		Payload: []byte(`{"approvalId":"R","status":"resolved","decision":"accept","decidedBy":"ann"}`)}
	return []journal.Record{
		runtimeRecord(t, 1000, wire.MethodTurnStarted, "", object{"turn": object{"id": "T"}}),
		runtimeRecord(t, 1100, wire.MethodModelRerouted, "", object{"fromModel": "opus", "toModel": "haiku"}),
		runtimeRecord(t, 1200, wire.MethodTokenUsage, "", usage(object{"totalTokens": 1150, "inputTokens": 1100, "outputTokens": 50},
			object{"totalTokens": 115, "inputTokens": 110, "outputTokens": 5, "cachedInputTokens": 0})),
		runtimeRecord(t, 1400, wire.MethodItemStarted, "I", object{"item": object{"id": "I", "type": wire.ItemCommand}}),
		{Event: asked}, {Event: resolved},
		runtimeRecord(t, 1900, wire.MethodItemCompleted, "I",
			object{"item": object{"id": "I", "type": wire.ItemCommand, "status": "failed", "command": "planted"}}),
		runtimeRecord(t, 1950, wire.MethodTokenUsage, "", usage(object{"totalTokens": 1350, "inputTokens": 1290, "outputTokens": 60,
			"cachedInputTokens": 100}, object{"totalTokens": 200, "inputTokens": 190, "outputTokens": 10, "cachedInputTokens": 100})),
		// The same count again adds nothing.
		runtimeRecord(t, 1960, wire.MethodTokenUsage, "", usage(object{"totalTokens": 1350, "inputTokens": 1290, "outputTokens": 60,
			"cachedInputTokens": 100}, object{"totalTokens": 200, "inputTokens": 190, "outputTokens": 10, "cachedInputTokens": 100})),
		runtimeRecord(t, 2000, wire.MethodTurnCompleted, "", object{"turn": object{"id": "T", "status": runtime.TurnFailed,
			"error": object{"message": "planted"}}}),
	}
}

// observed returns the spans of a turn, as NAME followed by KEY=VALUE.
func observed(t *testing.T, g *GenAI) (all []string) {
	t.Helper()
	tracer := New(func(span otlp.Span) {
		text := []string{span.Name}
		for _, pair := range span.Attributes {
			text = append(text, string(pair.Key)+"="+pair.Value.String())
		}
		all = append(all, strings.Join(text, " "))
	}, func(string, string) (string, string) { return "", "" })
	if g != nil {
		tracer.WithGenAI(*g)
	}
	lines := turnLines(t)
	for i := range lines {
		tracer.observe(&lines[i])
	}
	return all
}

// OB-16: with the conventions for generative AI, spans of turns and tools have their names and attributes, without any
// text of a person or a model.
func TestGenAIAttributes(t *testing.T) {
	t.Parallel()
	var measured []Turn
	got := observed(t, &GenAI{Provider: func(runtime, model string) string { return "provider-of-" + runtime + "-" + model },
		Model: func(string) string { return "opus" }, Measured: func(turn Turn) { measured = append(measured, turn) }})
	want := []string{
		"approval wait harness.session.id=S harness.turn.id=T harness.request.kind=approval harness.outcome=accept",
		"execute_tool commandExecution harness.session.id=S harness.turn.id=T harness.tool.name=commandExecution " +
			"harness.tool.executed_by=runtime harness.runtime=claude harness.outcome=failed gen_ai.operation.name=execute_tool " +
			"gen_ai.tool.name=commandExecution gen_ai.tool.call.id=I gen_ai.tool.type=function error.type=_OTHER " +
			"harness.approval.decision=accept harness.approval.decided_by=ann harness.approval.waited_ms=250",
		"invoke_agent claude harness.session.id=S harness.turn.id=T harness.runtime=claude harness.outcome=failed " +
			"gen_ai.operation.name=invoke_agent gen_ai.provider.name=provider-of-claude-opus gen_ai.agent.name=claude " +
			"gen_ai.conversation.id=S gen_ai.request.model=opus gen_ai.response.model=haiku error.type=_OTHER " +
			"gen_ai.usage.input_tokens=300 gen_ai.usage.output_tokens=15 gen_ai.usage.cache_read.input_tokens=100",
	}
	if !slices.Equal(got, want) {
		t.Errorf("spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(measured) != 1 {
		t.Fatalf("%d turns are measured", len(measured))
	}
	one := measured[0]
	if one.Took != time.Second || one.Error != otherError || one.Used == nil ||
		*one.Used != (wire.Tokens{Total: 315, Input: 300, Output: 15, Cached: 100}) {
		t.Errorf("measured %+v", one)
	}
}

// OB-16: without them, spans are as they were.
func TestSpansWithoutGenAI(t *testing.T) {
	t.Parallel()
	want := []string{
		"approval wait harness.session.id=S harness.turn.id=T harness.request.kind=approval harness.outcome=accept",
		"tool run harness.session.id=S harness.turn.id=T harness.tool.name=commandExecution " +
			"harness.tool.executed_by=runtime harness.runtime=claude harness.outcome=failed",
		"turn harness.session.id=S harness.turn.id=T harness.runtime=claude harness.outcome=failed",
	}
	if got := observed(t, nil); !slices.Equal(got, want) {
		t.Errorf("spans are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
