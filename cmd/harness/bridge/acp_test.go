package bridge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// FE-49: a new connection of ACP goes on where the lost one was: sessions from their positions, prompts with their
// keys, answers that may be lost. Requests come once.
func TestALostACPConnectionGoesOn(t *testing.T) {
	t.Parallel()
	a := &ACP{}
	gets := func(want bool, message string) {
		t.Helper()
		if got := a.Received([]byte(message)); got != want {
			t.Errorf("the program gets %s: %v", message, got)
		}
	}
	a.Sent([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`))
	gets(true, `{"id":0,"result":{}}`)
	a.Sent([]byte(`{"id":1,"method":"session/new","params":{"cwd":"/w"}}`))
	gets(true, `{"id":1,"result":{"sessionId":"s"}}`)
	prompt := a.Sent([]byte(`{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[],"_meta":{"mine":1}}}`))
	var sent struct {
		Params struct {
			Meta struct {
				Mine    int
				Harness struct{ Key string }
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal(prompt, &sent); err != nil || sent.Params.Meta.Harness.Key == "" || sent.Params.Meta.Mine != 1 {
		t.Fatalf("the prompt is %s, %v", prompt, err)
	}
	a.Sent([]byte(`{"id":3,"method":"session/list","params":{}}`))
	gets(true, `{"method":"session/update","params":{"sessionId":"s","_meta":{"harness":{"pos":7,"text":"m","end":5}}}}`)
	gets(true, `{"id":"r","method":"session/request_permission","params":{"sessionId":"s"}}`)
	a.Sent([]byte(`{"id":"r","result":{"outcome":{}}}`))

	lost := a.Lost()
	if len(lost) != 1 || !strings.Contains(string(lost[0]), `"id":3`) {
		t.Errorf("what is lost is %s", lost)
	}
	again := a.Again()
	if len(again) != 4 {
		t.Fatalf("the new connection begins with %s", again)
	}
	for i, want := range []string{`"initialize"`, fmt.Sprintf(`{"after":7,"keys":["%s"],"texts":{"m":5}}`, sent.Params.Meta.Harness.Key),
		`"session/prompt"`, `"id":"r"`} {
		if !strings.Contains(string(again[i]), want) {
			t.Errorf("message %d is %s, not %s", i, again[i], want)
		}
	}
	gets(false, `{"id":"bridge-initialize","result":{}}`)
	gets(false, `{"id":"bridge-resume-s","result":{}}`)
	gets(false, `{"id":"r","method":"session/request_permission","params":{"sessionId":"s"}}`)
	gets(true, `{"method":"$/cancel_request","params":{"requestId":"r"}}`)
	gets(false, `{"method":"$/cancel_request","params":{"requestId":"other"}}`)
	gets(true, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	if again := a.Again(); len(again) != 3 {
		t.Errorf("after the answer a new connection begins with %s", again)
	}
}
