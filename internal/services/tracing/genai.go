package tracing

import (
	"cmp"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry/otlp"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// Names of the semantic conventions for generative AI, version 1.41. Package semconv is not imported: every shim is this
// program, and would hold it in memory.
const (
	genOperation     = attribute.Key("gen_ai.operation.name")
	genProvider      = attribute.Key("gen_ai.provider.name")
	genAgent         = attribute.Key("gen_ai.agent.name")
	genConversation  = attribute.Key("gen_ai.conversation.id")
	genRequestModel  = attribute.Key("gen_ai.request.model")
	genResponseModel = attribute.Key("gen_ai.response.model")
	genInputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	genOutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	genCachedTokens  = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	genToolName      = attribute.Key("gen_ai.tool.name")
	genToolCall      = attribute.Key("gen_ai.tool.call.id")
	genToolType      = attribute.Key("gen_ai.tool.type")
	genError         = attribute.Key("error.type")

	attrDecision  = attribute.Key("harness.approval.decision")
	attrDecidedBy = attribute.Key("harness.approval.decided_by")
	attrWaited    = attribute.Key("harness.approval.waited_ms")
)

// Values of genOperation and genToolType.
const (
	OperationAgent = "invoke_agent"
	operationTool  = "execute_tool"

	toolFunction  = "function"  // the agent's host runs it
	toolExtension = "extension" // it calls a service of others
)

// otherError is the registry's error.type for an error without a code.
const otherError = "_OTHER"

// GenAI has what the attributes and metrics for generative AI need. All functions may be called concurrently.
type GenAI struct {
	// Provider returns the registry's name of the provider that a runtime uses for a model.
	Provider func(runtime, model string) string
	// Model returns the model that a session requests, "" for its runtime's default.
	Model func(sessionID string) string
	// Measured gets every turn that ended.
	Measured func(Turn)
}

// Turn is the measurement of a turn.
type Turn struct {
	Provider, Model, ResponseModel string
	// Error is its error.type, "" without an error.
	Error string
	Took  time.Duration
	// Used are its tokens, nil if the runtime reported none.
	Used *wire.Tokens
}

// genai collects what the spans of turns and tools get. Only decided is accessed by several goroutines.
type genai struct {
	GenAI
	turns  map[string]*spent      // by turn
	totals map[string]wire.Tokens // by session

	mu      sync.Mutex
	decided map[[2]string]decided // by session and item
}

// spent is what a turn has used so far, and the model that answered instead of the requested one.
type spent struct {
	used    wire.Tokens
	counted bool
	model   string
}

// decided is the outcome of an approval.
type decided struct {
	decision, by string
	waited       time.Duration
}

// WithGenAI makes the Tracer add attributes for generative AI and measure turns. Call it before Start.
func (t *Tracer) WithGenAI(g GenAI) *Tracer {
	t.genai = &genai{GenAI: g, turns: map[string]*spent{}, totals: map[string]wire.Tokens{}, decided: map[[2]string]decided{}}
	return t
}

// line handles the lines that no span begins or ends with.
func (g *genai) line(record *journal.Record, method string, params json.RawMessage) {
	if g == nil || record.TurnID == "" {
		return
	}
	switch method {
	case wire.MethodModelRerouted:
		g.of(record.TurnID).model = wire.Text(wire.Members(params, "toModel")[0])
	case wire.MethodTokenUsage:
		var report struct {
			Usage struct{ Total, Last wire.Tokens } `json:"tokenUsage"`
		}
		if json.Unmarshal(params, &report) != nil {
			return
		}
		turn, total, last := g.of(record.TurnID), report.Usage.Total, report.Usage.Last
		before, known := g.totals[record.SessionID]
		used := total.Since(before, last)
		if !turn.counted && (!known || used.Total < last.Total) {
			used = last // the count is new, or began again
		}
		remember(g.totals, record.SessionID, total)
		turn.used, turn.counted = turn.used.Plus(used), true
	}
}

func (g *genai) of(turnID string) *spent {
	turn := g.turns[turnID]
	if turn == nil {
		turn = &spent{}
		remember(g.turns, turnID, turn)
	}
	return turn
}

// turnEnded completes the span of a turn, and measures the turn.
func (g *genai) turnEnded(span *otlp.Span, record *journal.Record, ended runtime.Turn) {
	if g == nil {
		return
	}
	turn := g.of(record.TurnID)
	delete(g.turns, record.TurnID)
	m := Turn{Model: g.Model(record.SessionID), ResponseModel: turn.model, Took: span.End.Sub(span.Start)}
	m.Provider = g.Provider(record.Source, m.Model)
	span.Name = OperationAgent + " " + record.Source
	span.Attributes = append(span.Attributes, genOperation.String(OperationAgent), genProvider.String(m.Provider),
		genAgent.String(record.Source), genConversation.String(record.SessionID))
	if ended.Status == runtime.TurnFailed {
		m.Error = otherError
		if ended.ProviderStatus != 0 {
			m.Error = strconv.Itoa(ended.ProviderStatus)
		}
	}
	for _, one := range []struct {
		key   attribute.Key
		value string
	}{{genRequestModel, m.Model}, {genResponseModel, m.ResponseModel}, {genError, m.Error}} {
		if one.value != "" {
			span.Attributes = append(span.Attributes, one.key.String(one.value))
		}
	}
	if turn.counted {
		m.Used = &turn.used
		span.Attributes = append(span.Attributes, genInputTokens.Int64(turn.used.Input),
			genOutputTokens.Int64(turn.used.Output), genCachedTokens.Int64(turn.used.Cached))
	}
	g.Measured(m)
}

// toolEnded completes the span of a tool that ran for an item.
func (g *genai) toolEnded(span *otlp.Span, sessionID, itemID, name, kind string) {
	if g == nil {
		return
	}
	span.Name = operationTool + " " + name
	span.Attributes = append(span.Attributes, genOperation.String(operationTool), genToolName.String(name),
		genToolCall.String(itemID), genToolType.String(kind))
	if span.Failed != "" {
		span.Attributes = append(span.Attributes, genError.String(otherError))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	key := [2]string{sessionID, itemID}
	if one, asked := g.decided[key]; asked {
		delete(g.decided, key)
		span.Attributes = append(span.Attributes, attrDecision.String(one.decision), attrDecidedBy.String(one.by),
			attrWaited.Int64(one.waited.Milliseconds()))
	}
}

// resolved stores the outcome of an approval for the span of its tool.
func (g *genai) resolved(sessionID, itemID string, one decided) {
	if g == nil || itemID == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	key := [2]string{sessionID, itemID}
	if len(g.decided) >= remembered {
		clear(g.decided)
	}
	g.decided[key] = one
}

// toolOf returns the name and the type of the tool that a runtime ran for an item.
func toolOf(itemType, tool string) (name, kind string) {
	switch itemType {
	case wire.ItemToolCall:
		return cmp.Or(tool, itemType), toolExtension
	case wire.ItemClientTool:
		return cmp.Or(tool, itemType), toolFunction
	}
	return itemType, toolFunction
}
