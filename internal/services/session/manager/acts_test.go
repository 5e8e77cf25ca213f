package manager

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

// OB-01: opening a session, sending or adding a message, and stopping a turn each leave an event. The audit log keeps
// it. The event has no message text, because that is deleted with the session.
func TestRequestsLeaveARecord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := open(t, db, "node")
		s := k.create()
		turn := k.send(s.ID)
		k.do(k.Steer(t.Context(), s.ID, turn, "a secret word"))
		_, err := k.Interrupt(t.Context(), s.ID, turn)
		k.do(err)
		k.do(k.journal.Do(t.Context(), nothing)) // store what no caller waits for first
		created, sent, stopped := k.events(eventSessionCreated), k.events(session.EventMessageSent), k.events(eventTurnStopped)
		if len(created) != 1 || len(sent) != 2 || len(stopped) != 1 {
			t.Fatalf("it left %d, %d and %d records", len(created), len(sent), len(stopped))
		}
		if created[0].SessionID != s.ID || wire.Text(wire.Members(created[0].Payload, "runtime")[0]) != s.Runtime ||
			stopped[0].SessionID != s.ID || stopped[0].TurnID != turn {
			t.Errorf("it left %s and %s", created[0].Payload, stopped[0].Payload)
		}
		var first, second struct {
			TurnID, Hash string
			Bytes        int
		}
		for i, into := range []any{&first, &second} {
			if err := json.Unmarshal(sent[i].Payload, into); err != nil || strings.Contains(string(sent[i].Payload), "secret") {
				t.Errorf("it left %s: %v", sent[i].Payload, err)
			}
		}
		if first.TurnID != turn || second.TurnID != turn || first.Hash == second.Hash || second.Bytes == 0 {
			t.Errorf("it left %+v and %+v", first, second)
		}
	})
}
