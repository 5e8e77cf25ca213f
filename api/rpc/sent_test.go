package rpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"harness/api/door"
	"harness/api/rpc"
	"harness/internal/operations"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/tests/sessiontest"
)

// besideATurn has sessions in which a turn starts or ends concurrently with every message.
type besideATurn struct {
	manager.Turns
	sent session.Sent
}

func (b *besideATurn) Submit(context.Context, string, session.Message) (session.Sent, error) {
	return b.sent, nil
}

// The response to a message reports whether it was steered, even if the turn started after the message arrived, or
// ended just before it was sent.
func TestTheAnswerSaysWhetherAMessageWasSteered(t *testing.T) {
	t.Parallel()
	b := open(t)
	sessions := &besideATurn{Turns: manager.PartsOf(b.Service).Turns}
	parts := sessiontest.Parts(b.Service)
	parts.Turns = sessions
	ops := operations.New(operations.Options{Sessions: parts, Controls: b.Site, Runtimes: b.Site})
	b.serve(t, rpc.Options{Operations: door.NewOperations(ops, nil, nil),
		Version: "1"})
	id := b.NewSession()
	s := b.dial(t, "alice")
	send := func() string {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/send","params":{"session_id":%q,"prompt":"more"}}`, id))
		for {
			if text := s.read(); strings.Contains(text, `"id":1,`) {
				return text
			}
		}
	}
	sessions.sent = session.Sent{TurnID: "began beside it", Steered: true}
	if text := send(); !strings.Contains(text, `"steered":true`) {
		t.Errorf("no turn ran when it came: %s", text)
	}
	turn := b.Say(id, "HOLD[held]")
	sessions.sent = session.Sent{TurnID: turn}
	if text := send(); !strings.Contains(text, `"steered":false`) {
		t.Errorf("a turn ran when it came, but not when it was sent: %s", text)
	}
	if err := b.Agent.Release("held"); err != nil {
		t.Fatal(err)
	}
}
