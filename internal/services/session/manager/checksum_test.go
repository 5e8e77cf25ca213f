package manager

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// A damaged request shows none of its row's content, whichever column is damaged. It can be declined but never
// accepted. Other requests are shown and decided as before.
func TestADamagedRequestIsNeverAccepted(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		long := `{"command":"` + strings.Repeat("long ", database.PartBytes/3) + `"}`
		damages := []string{
			`update interactive_requests set params = replace(params, 'rm 0', 'rm 9') where id = $1`,
			`update interactive_requests set summary = 'May we?' where id = $1`,
			`update interactive_requests set method = method || 'x' where id = $1`,
			`update interactive_requests set asked = replace(asked, '{', '{ ') where id = $1`,
			`update interactive_requests set item_id = 'other' where id = $1`,
			`update request_parts set part = replace(part, 'long', 'LONG') where request = $1 and number = 1`,
		}
		for n, damage := range damages {
			params := fmt.Sprintf(`{"command":"rm %d"}`, n)
			if strings.Contains(damage, "request_parts") {
				params = long
			}
			k.fake.ask(s.ID, turn, n, runtime.RequestApproval, "item/commandExecution/requestApproval", params)
			pending := k.pending(s.ID, runtime.RequestApproval)
			id := pending[0].ID
			if string(pending[0].Params) != params {
				t.Fatalf("before the damage it asks %.100s", pending[0].Params)
			}
			if _, err := k.db.Raw().ExecContext(t.Context(), damage, id); err != nil {
				t.Fatal(err)
			}
			shown := k.pending(s.ID, runtime.RequestApproval)[0]
			if shown.Summary != store.RequestDamaged || string(shown.Params) != "{}" {
				t.Errorf("%s: it is shown as %.300s", damage, fmt.Sprint(shown))
			}
			requests, _, err := store.Damaged(t.Context(), k.db.Read())
			if err != nil || !slices.Equal(requests, []string{id}) {
				t.Errorf("%s: a scrub finds %v (%v)", damage, requests, err)
			}
			var refused *runtime.ReplyError
			if _, err := k.Settle(t.Context(), id, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "ada"); !errors.As(err, &refused) {
				t.Errorf("%s: it is accepted: %v", damage, err)
			}
			settled, err := k.Settle(t.Context(), id, runtime.RequestApproval, runtime.Reply{Decision: "decline"}, "ada")
			if err != nil || settled.Status != session.RequestResolved {
				t.Errorf("%s: it is not declined: %v", damage, err)
			}
			if _, err := k.db.Raw().ExecContext(t.Context(), `delete from interactive_requests where id = $1`, id); err != nil {
				t.Fatal(err)
			}
		}
		k.fake.ask(s.ID, turn, 99, runtime.RequestApproval, "item/commandExecution/requestApproval", long)
		whole := k.pending(s.ID, runtime.RequestApproval)[0]
		if _, err := k.Settle(t.Context(), whole.ID, runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "ada"); err != nil {
			t.Error(err)
		}
	})
}

// A damaged queued message is held with the reason and never sent; after its text is edited, it is sent.
func TestADamagedMessageIsHeld(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn := k.send(s.ID)
		id, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: "delete nothing"})
		k.do(err)
		if _, err := k.db.Raw().ExecContext(t.Context(),
			`update queued_messages set message = replace(message, 'nothing', 'anything')`); err != nil {
			t.Fatal(err)
		}
		k.end(s.ID, turn)
		k.WakeQueue()
		k.awaitHeld(s.ID)
		now, err := k.Queued(t.Context(), s.ID)
		if k.do(err); now[0].Text != "" || now[0].Error != session.ErrQueuedDamaged.Error() {
			t.Errorf("it is shown as %+v", now[0])
		}
		if _, messages, err := store.Damaged(t.Context(), k.db.Read()); err != nil || !slices.Equal(messages, []string{id}) {
			t.Errorf("a scrub finds %v (%v)", messages, err)
		}
		if _, err := k.SendNow(t.Context(), s.ID, id); err != nil && !errors.Is(err, session.ErrQueuedDamaged) {
			t.Error(err)
		}
		k.awaitHeld(s.ID)
		if said := k.awaitTurns(1); len(said) != 1 {
			t.Errorf("the runtime got %v", said)
		}
		_, err = k.EditQueued(t.Context(), s.ID, id, "delete nothing, please")
		k.do(err)
		if said := k.awaitTurns(2); said[1] != `{"type":"text","text":"delete nothing, please"}` {
			t.Errorf("the runtime got %s", said[1])
		}
	})
}
