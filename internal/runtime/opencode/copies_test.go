package opencode

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime/stdio"
	"harness/tests/runtimetest"
)

// A line with a long text is in memory twice: as the line and as its meaning. No test may run in parallel, because
// this one counts all allocations.
func TestALongLineIsHeldTwice(t *testing.T) {
	long := runtimetest.LongText()
	event := func(kind, properties string) string {
		return `{"event":{"type":"` + kind + `","properties":{"sessionID":"n",` + properties + `}},"directory":"/work"}`
	}
	part := func(id, members string) string {
		return event("message.part.updated", `"part":{"id":"`+id+`","messageID":"msg2","sessionID":"n",`+members+`}`)
	}
	over := `"status":"completed","title":"","time":{"start":1,"end":2},`
	for _, one := range []struct{ name, line string }{
		{"a command's output", part("sh", `"type":"tool","tool":"bash","callID":"c","state":{`+over+
			`"input":{"command":"yes"},"output":"`+long+`","metadata":{"output":"`+long+`","exit":0}}`)},
		{"a tool's result", part("read", `"type":"tool","tool":"read","callID":"c","state":{`+over+
			`"input":{},"output":"`+long+`","metadata":{}}`)},
		{"a file that was written", part("write", `"type":"tool","tool":"write","callID":"c","state":{`+over+
			`"input":{"filePath":"/work/f","content":"`+long+`"},"output":"","metadata":{}}`)},
		{"an answer", part("text", `"type":"text","text":"`+long+`","time":{"start":1,"end":2}`)},
		{"a piece of an answer", event("message.part.delta", `"messageID":"msg2","partID":"open","field":"text","delta":"`+long+`"`)},
		{"a request", event("permission.asked", `"id":"per1","permission":"edit","patterns":["f"],"always":["*"],`+
			`"metadata":{"filepath":"/work/f","diff":"`+long+`"},"tool":{"messageID":"msg2","callID":"c"}`)},
	} {
		t.Run(one.name, func(t *testing.T) {
			var p *protocol
			said := runtimetest.CheckCopies(t, []byte(one.line), func() func([]byte, time.Time) (stdio.Line, error) {
				p = &protocol{Conn: &stdio.Conn{}, names: &names{}}
				p.state = state{Conversations: map[string]*conversation{"n": {Thread: "thread", Turn: "msg1", Dir: "/work", Users: []string{"msg1"},
					Message: "msg2", Busy: true}}}
				if _, err := p.Read([]byte(part("open", `"type":"text","text":""`)), time.Now()); err != nil {
					t.Fatal(err)
				}
				return p.Read
			})
			words := 0
			for _, signal := range said.Signals {
				words = max(words, bytes.Count(signal.Raw, []byte("said")))
			}
			if want := strings.Count(long, "said"); words < want {
				t.Errorf("%d deltas of %d are published", words, want)
			}
			if stored, err := json.Marshal(p.state); err != nil || bytes.Contains(stored, []byte("left out")) ||
				len(stored) > longText {
				t.Errorf("%d bytes are remembered: %v", len(stored), err)
			}
		})
	}
}
