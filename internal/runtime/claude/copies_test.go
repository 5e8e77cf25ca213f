package claude

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
	"harness/tests/runtimetest"
)

// Any line with a long text is in memory twice: as the line and as its meaning. No test may run in parallel, because
// this one counts all allocations.
func TestALongLineIsHeldTwice(t *testing.T) {
	long := runtimetest.LongText()
	tool := func(name, id, input string) string {
		return `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"` + id + `","name":"` + name +
			`","input":` + input + `}]}}`
	}
	result := func(id, more string) string {
		return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"` + long + `"}]}` +
			more + `}`
	}
	for _, one := range []struct{ name, line string }{
		{"a command's output", result("sh", `,"tool_use_result":{"stdout":"`+long+`","stderr":""}`)},
		{"a tool's result", result("read", `,"tool_use_result":{"file":{"content":"`+long+`"}}`)},
		{"a written file", tool("Write", "w", `{"file_path":"/f","content":"`+long+`"}`)},
		{"a file that was written", result("write", `,"tool_use_result":{"type":"create","content":"`+long+`"}`)},
		{"an answer", `{"type":"assistant","uuid":"u","message":{"id":"m","content":[{"type":"text","text":"` + long + `"}]}}`},
		{"a piece of an answer", `{"type":"stream_event","event":{"type":"content_block_delta","index":0,` +
			`"delta":{"type":"text_delta","text":"` + long + `"}}}`},
		{"a message", `{"type":"user","isReplay":true,"uuid":"u","message":{"content":"` + long + `"}}`},
		{"a request", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Write",` +
			`"tool_use_id":"w","input":{"file_path":"/f","content":"` + long + `"}}}`},
	} {
		t.Run(one.name, func(t *testing.T) {
			var p *protocol
			said := runtimetest.CheckCopies(t, []byte(one.line), func() func([]byte, time.Time) (stdio.Line, error) {
				p = newProtocol(&stdio.Conn{}, hello{Thread: "thread", Controls: controls{Approval: onRequest, Sandbox: fullAccess}},
					state{}, time.Minute, func(json.RawMessage) {})
				for _, before := range []string{
					`{"type":"command_lifecycle","state":"started","command_uuid":"turn"}`,
					`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}`,
					`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text"}}}`,
					tool(toolShell, "sh", `{"command":"yes"}`), tool("Read", "read", `{}`),
					tool("Write", "write", `{"file_path":"/f","content":""}`),
				} {
					if _, err := p.Read([]byte(before), time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				return p.Read
			})
			if len(said.Signals) == 0 || bytes.Count(said.Signals[0].Raw, []byte("said"))+
				bytes.Count(said.Signals[len(said.Signals)-1].Raw, []byte("said")) < strings.Count(long, "said") {
				t.Errorf("it becomes %d signals", len(said.Signals))
			}
			if bytes.Contains(encode(p.state), []byte("left out")) || len(encode(p.state)) > 8*maxDetail {
				t.Errorf("it is remembered: %d bytes", len(encode(p.state)))
			}
			change, asks := said.Signals[len(said.Signals)-1].Change.(runtime.InteractiveRequested)
			if !asks {
				return
			}
			given, err := worded(runtime.RequestRef{Asked: change.Asked}, runtime.Reply{Decision: "accept"})
			if err != nil || readInput(given.Input).Content != strings.ReplaceAll(strings.ReplaceAll(long, `\"\\n\"`, `"\n"`), `"\n"\n`,
				`"\n"`+"\n") {
				t.Errorf("it is answered with %d bytes: %v", len(given.Input), err)
			}
		})
	}
}
