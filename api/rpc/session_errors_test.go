package rpc_test

import (
	"strings"
	"testing"
)

// RR-16: refusals of session/state and similar methods name the runtime, the method and the supported runtimes. This
// applies to an unknown runtime, an unknown session and a deleted session.
func TestSessionErrorsNameRuntime(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	gone := b.NewSession()
	if _, err := b.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	s := b.dial(t, "alice")
	for _, method := range []string{"session/state", "session/info", "session/get", "session/watch", "session/messages"} {
		for _, one := range []struct{ params, code, agent string }{
			{`{"session_id":"nope","agent_type":"who"}`, "-32602", "who"},
			{`{"session_id":"` + gone + `","agent_type":"who"}`, "-32602", "who"},
			{`{"session_id":"nope","agent_type":"scripted"}`, "-32010", "scripted"},
			{`{"session_id":"nope"}`, "-32010", ""},
			{`{"session_id":"` + gone + `","agent_type":"scripted"}`, "-32012", "scripted"},
		} {
			s.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + one.params + `}`)
			got := s.read()
			if !strings.Contains(got, `"code":`+one.code) || !strings.Contains(got, `"method":"`+method+`"`) ||
				!strings.Contains(got, `"supported_agent_types":["scripted"]`) ||
				one.agent != "" && !strings.Contains(got, `"agent_type":"`+one.agent+`"`) {
				t.Errorf("%s %s is refused with %s", method, one.params, got)
			}
		}
	}
}
