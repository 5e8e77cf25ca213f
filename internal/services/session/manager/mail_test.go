package manager

import (
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/lineage"
	"harness/internal/services/session/store"
)

// MC-12: Mail that a server was sending when it died is neither sent twice nor lost, and has its receipt and sender.
func TestMailSurvives(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s, other := k.create(), k.create()
		turn := k.send(s.ID)
		k.end(s.ID, turn)
		k.flush()
		sent := map[string]string{s.ID: ids.New(), other.ID: ids.New()}
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error {
			for to, id := range sent {
				if err := lineage.InsertMail(t.Context(), tx, id, to, session.Envelope{From: "parent", Hops: 1, Key: id}, 1); err != nil {
					return err
				}
				_, err := tx.ExecContext(t.Context(), `insert into queued_messages (`+store.QueuedColumns+`)
					values ($1, $2, 1, '{"text":"hi"}', 'sending', '{"turns":0,"newest":""}', '', 1, null)`, id, to)
				if err != nil {
					return err
				}
			}
			return nil
		}))
		again := k.reopenKnown()
		again.awaitWaiting(s.ID, 0)     // its turn is stored
		again.awaitWaiting(other.ID, 0) // it had no turn, and is sent now
		if said := again.awaitTurns(1); len(said) != 1 ||
			said[0] != `{"type":"text","text":"[message from session parent \"\", not from your user]\n> hi"}` {
			t.Errorf("after the restart it received %q", said)
		}
		for to, want := range map[string]session.MailState{s.ID: session.MailAnswered, other.ID: session.MailDelivered} {
			found, err := again.Service.Lineage.Receipts(t.Context(), session.ReceiptQuery{To: to})
			k.do(err)
			if len(found) != 1 || found[0].State != want || to == s.ID && found[0].TurnID != turn {
				t.Errorf("the receipts are %+v, want %s", found, want)
			}
		}
	})
}
