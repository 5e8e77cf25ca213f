package manager

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

// A message to a busy session whose runtime cannot steer is queued immediately. It survives a disconnect of its client
// and a kill of the server. The queue is sent in order. A client that repeats a message with its key gets the turn of
// the message.
func TestAMessageToABusySessionIsQueued(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		cannotSteer := func(o *Options) { o.Runtimes.Adapters[0] = plain{o.Runtimes.Adapters[0]} }
		k := openWith(t, db, "node", cannotSteer)
		s := k.create()
		first, err := k.Submit(t.Context(), s.ID, session.Message{Text: "first"})
		if err != nil || first.TurnID == "" || first.QueuedID != "" {
			t.Fatalf("to an idle session: %+v, %v", first, err)
		}
		gone, leave := context.WithCancel(t.Context())
		for n, text := range []string{"second", "third"} {
			queued, err := k.Submit(gone, s.ID, session.Message{Text: text, Key: text})
			if err != nil || queued.TurnID != "" || queued.QueuedID == "" || queued.Position != n+1 {
				t.Fatalf("%s: %+v, %v", text, queued, err)
			}
		}
		leave()
		for name, message := range map[string]session.Message{
			"an image": {Text: "x", Images: []string{"data:,"}}, "a level": {Text: "x", ApprovalPolicy: level("on-failure")},
		} {
			if _, err := k.Submit(t.Context(), s.ID, message); err == nil || errors.Is(err, session.ErrQueueFull) {
				t.Errorf("%s that the runtime would refuse is queued: %v", name, err)
			}
		}

		k.close() // as a kill
		k = openWith(t, db, "node", func(o *Options) {
			cannotSteer(o)
			o.Surviving = []string{k.fake.generation}
		})
		k.end(s.ID, first.TurnID)
		for n, text := range []string{"second", "third"} {
			said := k.awaitTurns(n + 1)
			if want := fmt.Sprintf(`{"type":"text","text":%q}`, text); said[n] != want {
				t.Errorf("then it was sent %s, want %s", said[n], want)
			}
			k.awaitWaiting(s.ID, 1-n)
			turn := k.ActiveTurn(s.ID)
			if made, err := k.TurnForKey(t.Context(), s.ID, text); err != nil || made != turn || turn == "" {
				t.Errorf("%s made %q, %v; its turn is %q", text, made, err, turn)
			}
			k.end(s.ID, turn)
		}
	})
}

// If the runtime steers, the message joins the running turn, as before.
func TestAMessageIsSteeredWhereItCanBe(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		first := k.send(s.ID)
		sent, err := k.Submit(t.Context(), s.ID, session.Message{Text: "more"})
		if err != nil || sent != (session.Sent{TurnID: first, Steered: true}) {
			t.Errorf("got %+v, %v", sent, err)
		}
	})
}
