package manager

import (
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/transcript"
)

// said returns the messages of a session that a user sent, with their final status.
func (k *kit) said(sessionID string) (said []string) {
	k.t.Helper()
	for _, entry := range k.stored(sessionID) {
		if entry.Role == "user" {
			said = append(said, string(entry.Status)+" "+entry.Content)
		}
	}
	return said
}

// reportUser makes the runtime report a message as part of a turn.
func (k *kit) reportUser(sessionID, turnID, id, text string) {
	k.t.Helper()
	k.fake.item(sessionID, turnID, runtime.Item{ID: id, Role: "user", Type: wire.ItemUserMessage, Content: text}, true)
}

// A message that a turn accepted and then dropped is in the transcript. Readers are notified of it before the turn's
// end. A message that was published appears once. A turn that ran to its end drops nothing.
func TestAMessageDroppedWithItsTurnIsShown(t *testing.T) {
	for name, c := range map[string]struct {
		status runtime.TurnStatus
		steer  func(k *kit, sessionID, turnID string)
		want   []string
	}{
		"stopped": {runtime.TurnInterrupted, nil,
			[]string{"complete go", "complete also", "canceled and this", "canceled also"}},
		"done": {runtime.TurnDone, nil, []string{"complete go", "complete also"}},
		"steered by its route": {runtime.TurnInterrupted, func(k *kit, sessionID, turnID string) {
			k.do(k.Steer(k.t.Context(), sessionID, turnID, "by the route"))
		}, []string{"complete go", "complete also", "canceled and this", "canceled also", "canceled by the route"}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				s := k.create()
				turn, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "go"}))
				k.do(err)
				k.reportUser(s.ID, turn, "u1", "go")
				for _, text := range []string{"also", "and this", "also"} {
					_, err := k.Send(t.Context(), s.ID, session.Message{Text: text})
					k.do(err)
				}
				k.reportUser(s.ID, turn, "u2", "also")
				if c.steer != nil {
					c.steer(k, s.ID, turn)
				}
				k.fake.end(s.ID, turn, c.status)
				if got := k.said(s.ID); !slices.Equal(got, c.want) {
					t.Errorf("the transcript has %q, want %q", got, c.want)
				}
				ended, dropped := false, 0
				for _, record := range k.records() {
					if record.Type == session.EventTranscriptUpdated {
						if dropped++; ended {
							t.Error("a dropped message was published behind the turn's end")
						}
					}
					ended = ended || strings.Contains(string(record.Payload), wire.MethodTurnCompleted)
				}
				if want := len(c.want) - 2; dropped != want || !ended {
					t.Errorf("%d dropped messages were published, want %d (the end: %v)", dropped, want, ended)
				}
			})
		})
	}
}

// The same holds for a message of a turn that ended with its process.
func TestAMessageDroppedByADeadRuntimeIsShown(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "go"}))
		k.do(err)
		k.reportUser(s.ID, turn, "u1", "go")
		_, err = k.Send(t.Context(), s.ID, session.Message{Text: "and this"})
		k.do(err)
		k.flush()
		k = k.reopenKnown() // kill -9
		if got, want := k.said(s.ID), []string{"complete go", "canceled and this"}; !slices.Equal(got, want) {
			t.Errorf("the transcript has %q, want %q", got, want)
		}
	})
}

// The acceptance of a message may be stored after the end of its turn.
func TestAMessageTakenByAnEndedTurnIsShown(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		turn, err := turnOf(k.Send(t.Context(), s.ID, session.Message{Text: "go"}))
		k.do(err)
		k.reportUser(s.ID, turn, "u1", "go")
		k.fake.end(s.ID, turn, runtime.TurnInterrupted)
		k.flush()
		sess, err := k.Get(t.Context(), s.ID)
		k.do(err)
		k.do(k.turnAccepted(t.Context(), sess.Session, runtime.StartedTurn{TurnID: turn, Steered: true}, session.Message{Text: "late"}, nil))
		if got, want := k.said(s.ID), []string{"complete go", "canceled late"}; !slices.Equal(got, want) {
			t.Errorf("the transcript has %q, want %q", got, want)
		}
		if entries := k.stored(s.ID); entries[len(entries)-1].Status != transcript.Canceled {
			t.Errorf("it ended as %s", entries[len(entries)-1].Status)
		}
	})
}
