package acp

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
	"harness/tests/runtimetest"
)

// A line with a long text is in memory twice: as the line and as its meaning. The state of its call is the same as
// for a short one. No test may run in parallel, because this one counts all allocations.
func TestALongLineIsHeldTwice(t *testing.T) {
	long := runtimetest.LongText()
	remembered := maxOutput / len("said \"\\n\"\n")
	update := func(members string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{` + members + `}}}`
	}
	end := `"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed",`
	for _, one := range []struct {
		name, line string
		words      int
	}{
		{"an answer", update(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + long + `"}`), strings.Count(long, "said")},
		{"a tool's result", update(end + `"content":[{"type":"content","content":{"type":"text","text":"` + long + `"}}],` +
			`"rawOutput":{"output":"` + long + `"}`), remembered},
		{"what a tool shows", update(end + `"content":[{"type":"content","content":{"type":"text","text":"` + long + `"}}]`), remembered},
		{"a file that is changed", update(end + `"kind":"edit","content":[{"type":"diff","path":"/f","oldText":"","newText":"` +
			long + `"}]`), 0},
		{"a request", `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s",` +
			`"options":[{"optionId":"once","name":"Once","kind":"allow_once"}],"toolCall":{"toolCallId":"w","kind":"edit",` +
			`"content":[{"type":"diff","path":"/f","newText":"` + long + `"}]}}}`, 0},
	} {
		t.Run(one.name, func(t *testing.T) {
			var p *protocol
			said := runtimetest.CheckCopies(t, []byte(one.line), func() func([]byte, time.Time) (stdio.Line, error) {
				profile := Profile{Name: "acp:test"}
				p = &protocol{Conn: &stdio.Conn{}, runtime: &Runtime{profile: profile},
					translator: translator{profile: &profile, threads: map[string]string{"s": "thread"}}}
				p.translator.begin("s", conversation{Thread: "thread", Turn: "t"}, userItem{Type: wire.ItemUserMessage, ID: "t:user"}, 1)
				p.lastOutput = map[string]time.Time{}
				call := update(`"sessionUpdate":"tool_call","toolCallId":"c","title":"yes","rawInput":{"command":"yes"}`)
				if _, err := p.Read([]byte(call), time.Now()); err != nil {
					t.Fatal(err)
				}
				return p.Read
			})
			words := 0
			for _, signal := range said.Signals {
				words = max(words, bytes.Count(signal.Raw, []byte("said")))
			}
			if words != one.words {
				t.Errorf("%d deltas of %d are published", words, one.words)
			}
			if stored := p.translator.state.encode(); bytes.Contains(stored, []byte("left out")) {
				t.Error("what stands for the text is remembered")
			}
		})
	}
}

// A comparison of long texts shows the difference, as for short ones.
func TestLongTextsAreCompared(t *testing.T) {
	profile := Profile{Name: "acp:test"}
	p := &protocol{Conn: &stdio.Conn{}, runtime: &Runtime{profile: profile}, lastOutput: map[string]time.Time{},
		translator: translator{profile: &profile, threads: map[string]string{"s": "thread"}}}
	p.translator.begin("s", conversation{Thread: "thread", Turn: "t"}, userItem{Type: wire.ItemUserMessage, ID: "t:user"}, 1)
	around := strings.Repeat(`line\n`, 1<<18)
	said, err := p.Read([]byte(`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call",`+
		`"toolCallId":"c","kind":"edit","status":"completed","content":[{"type":"diff","path":"/f","oldText":"`+around+`old\n`+
		around+`","newText":"`+around+`new\n`+around+`"}]}}}`), time.Now())
	want := `"diff":"@@ -262142,7 +262142,7 @@\n line\n line\n line\n-old\n+new\n line\n line\n line\n"`
	if err != nil || !bytes.Contains(said.Signals[len(said.Signals)-2].Raw, []byte(want)) {
		t.Errorf("it becomes %.500s: %v", said.Signals[len(said.Signals)-2].Raw, err)
	}
}
