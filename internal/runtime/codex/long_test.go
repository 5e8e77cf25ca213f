package codex

import (
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime"
)

// The adapter reads any long line without a copy of it. The one-line summary of a request has a maximum length, and
// marks the cut.
func TestLongLineIsNotCopied(t *testing.T) { // not in parallel: it counts all allocations
	const size = 8 << 20
	text := strings.Repeat(`said \"\\n\"\n`, size/15)
	about := `"params":{"threadId":"s","turnId":"t",`
	item := func(what, tail string) string {
		return `{"method":"item/completed",` + about + `"item":{"id":"i",` + what + text + tail + `}}}`
	}
	asks := func(method, what, tail string) string {
		return `{"id":1,"method":"` + method + `",` + about + `"itemId":"i",` + what + text + tail + `}}`
	}
	for name, line := range map[string]string{
		"output":   item(`"type":"commandExecution","command":"yes","status":"completed","aggregatedOutput":"`, `"`),
		"command":  item(`"type":"commandExecution","status":"completed","command":"`, `"`),
		"diff":     item(`"type":"fileChange","status":"completed","changes":[{"path":"a","diff":"`, `"}]`),
		"plan":     item(`"type":"plan","text":"`, `"`),
		"answer":   item(`"type":"agentMessage","text":"`, `"`),
		"message":  item(`"type":"userMessage","content":[{"type":"text","text":"a"},{"type":"text","text":"`, `"}]`),
		"approval": asks("item/commandExecution/requestApproval", `"cwd":"/","command":"`, `"`),
		"words":    asks("item/commandExecution/requestApproval", `"cwd":"/","command":["sh","-c","`, `"]`),
		"offers": asks("item/commandExecution/requestApproval", `"command":"ls","availableDecisions":["accept","`,
			`"]`),
		"permissions": asks("item/permissions/requestApproval", `"permissions":{"fileSystem":null},"reason":"`, `"`),
		"files":       asks("item/fileChange/requestApproval", `"changes":[{"path":"a","diff":"`, `"}]`),
		"tool":        asks("item/tool/call", `"callId":"i","tool":"look","arguments":{"at":"`, `"}`),
		"tool's name": asks("item/tool/call", `"callId":"i","arguments":{},"tool":"`, `"`),
		"questions":   asks("item/tool/requestUserInput", `"questions":[{"id":"q","header":"h","question":"`, `"}]`),
		"MCP approval": asks("mcpServer/elicitation/request",
			`"serverName":"s","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"w","tool_params":{"at":"`, `"}}`),
		"MCP message": asks("mcpServer/elicitation/request",
			`"serverName":"s","mode":"form","requestedSchema":{"properties":{}},"message":"`, `"`),
		"MCP form": asks("mcpServer/elicitation/request",
			`"serverName":"s","mode":"form","requestedSchema":{"properties":{"a":{"type":"string","title":"`, `"}}}`),
	} {
		raw := []byte(line)
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		f, err := parseFrame(raw)
		if err != nil {
			t.Fatal(err)
		}
		signal := classify(f, raw, "g", time.Now())
		goruntime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size/4 {
			t.Errorf("%s: to read a line of %d bytes takes %d bytes", name, len(line), allocated)
		}
		switch change := signal.Change.(type) {
		case runtime.ItemChanged:
			if change.Item.Long == nil && change.Item.LongContent == nil || len(change.Item.Content) > 1000 {
				t.Errorf("%s: the item is not given in place", name)
			}
		case runtime.InteractiveRequested:
			if len(change.Summary) > 80<<10 || len(change.Asked.Tool) > 80<<10 || len(change.Summary) > 1000 &&
				!strings.Contains(change.Summary, "cut here: it has") {
				t.Errorf("%s: the summary is %.200s", name, change.Summary)
			}
		default:
			if name != "MCP form" {
				t.Errorf("%s: it says %T", name, signal.Change)
			}
		}
	}
}
