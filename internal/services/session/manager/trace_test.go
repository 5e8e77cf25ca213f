package manager

import (
	"testing"

	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
)

// EV-30: a queued message's turn has the trace of the request that queued it, even if another server sends it. The
// same holds for the end of the turn before it, whose server died.
func TestAWaitingMessageKeepsItsTrace(t *testing.T) {
	const first, second = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn, err := turnOf(k.Send(telemetry.WithTrace(t.Context(), telemetry.Trace{TraceID: first, SpanID: "00f067aa0ba902b7"}),
			s.ID, session.Message{Text: "hi"}))
		k.do(err)
		_, _, err = k.Wait(telemetry.WithTrace(t.Context(), telemetry.Trace{TraceID: second, SpanID: "b7ad6b7169203331"}),
			s.ID, session.Message{Text: "later"})
		k.do(err)
		k.flush()
		again := k.reopenKnown()
		again.awaitWaiting(s.ID, 0)
		next := again.ActiveTurn(s.ID)
		again.end(s.ID, next)
		of := map[string]int{}
		for _, record := range again.records() {
			want := map[string]string{turn: first, next: second}[record.TurnID]
			if want == "" {
				continue
			}
			of[want]++
			if record.TraceID != want {
				t.Errorf("%d %s of turn %s is in trace %q, want %q", record.Seq, record.Type, record.TurnID, record.TraceID, want)
			}
		}
		if of[first] < 2 || of[second] < 2 {
			t.Errorf("records by trace are %v", of)
		}
	})
}
