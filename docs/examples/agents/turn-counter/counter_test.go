package turncounter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	turncounter "harness/docs/examples/agents/turn-counter"
	"harness/extensions"
	"harness/extensions/sdk"
)

// noted collects the extension's requests.
type noted struct{ requests []sdk.ActionRequest }

func (n *noted) Execute(_ context.Context, call extensions.ActionCall) sdk.EmitResult {
	n.requests = append(n.requests, call.Request)
	return sdk.EmitResult{Kind: sdk.ActionResult, Status: string(sdk.Performed)}
}

// The example loads in the strictest trust mode and notes the tenth turn.
func TestTurnCounter(t *testing.T) {
	t.Parallel()
	actions := &noted{}
	r := extensions.New(extensions.Options{Native: []sdk.Extension{turncounter.Extension()},
		Trust: extensions.TrustPolicy{Mode: extensions.TrustEnforced}, Actions: actions, Logger: zerolog.Nop()})
	if problems := r.Load(t.Context()); problems != nil {
		t.Fatal(problems)
	}
	for i := range 12 {
		payload := fmt.Sprintf(`{"context":{"threadId":"s","turnId":"t%d"}}`, i)
		for _, result := range r.Emit(t.Context(),
			&extensions.Event{Type: "app_server.turn.completed", Payload: json.RawMessage(payload)}, extensions.Scope{}) {
			if result.Kind == sdk.HandlerError {
				t.Fatal(result.Error)
			}
		}
	}
	if len(actions.requests) != 1 || actions.requests[0].IdempotencyKey != "turn-counter:s:t9" {
		t.Errorf("asked for %+v", actions.requests)
	}
	if got := r.Emit(t.Context(), &extensions.Event{Type: "app_server.turn.completed", Payload: json.RawMessage(`[]`)},
		extensions.Scope{}); got[0].Kind != sdk.HandlerError {
		t.Errorf("nonsense: %+v", got)
	}
}
