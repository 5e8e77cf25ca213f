package crashes

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// A store that refuses for longer than the limit for an unanswered probe ends no runtime. The process and its turn
// continue, and a waiting approval can be decided afterwards.
func TestAnOutageLongerThanTheHangLimitEndsNoRuntime(t *testing.T) {
	t.Parallel()
	const hang = time.Second
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s, all := outages(t, engine, "24m")
			server := s.Start(fmt.Sprintf("HARNESS_RUNTIME_HANG_MS=%d", hang.Milliseconds()))
			server.WaitRuntime()
			pid := func() string {
				_, health := server.Call(http.MethodGet, "/api/health", nil)
				return programtest.Text(health, "codex", "pid")
			}
			before, other := pid(), server.CreateSession(nil)
			for _, o := range all[:2] {
				session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
				events := server.Follow("threadId=" + session)
				turn := server.Send(session, "MOCK_CMD[echo one] MOCK_REPLY[done]")
				approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
				talking := server.CreateSession(nil)
				words := server.Send(talking, "MOCK_SLOW[3000,2]")
				talked := server.Follow("threadId=" + talking)
				o.refuse(server)
				awaitOutage(server, other)
				<-time.After(3 * hang)
				o.mend(server)
				server.AwaitRuntime()
				if after := pid(); after != before {
					t.Fatalf("%s: codex %s was replaced by %s", o.name, before, after)
				}
				if status := talked.WaitTurn(words); status != "completed" {
					t.Errorf("%s: the turn that talked ended %s", o.name, status)
				}
				server.Decide(approval)
				if status := events.WaitTurn(turn); status != "completed" {
					t.Errorf("%s: the turn ended %s", o.name, status)
				}
			}
		})
	}
}
