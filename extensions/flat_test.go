package extensions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"harness/database"
	"harness/extensions"
	"harness/internal/dbtest"
	"harness/journal"
	"harness/transcript"
)

// What an event tells of a turn costs the same whether its session had 10 turns or 1,200.
func TestEventsOfATurnAreFlat(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, l := newSite(t, db), newListener(queued)
		project := "p1"
		took := map[string]time.Duration{"short": time.Hour, "long": time.Hour}
		for id, turns := range map[string]int{"short": 10, "long": 1200} {
			s.hosted.infos[id] = extensions.SessionInfo{ID: id, ProjectID: &project}
			s.live(id, turns)
		}
		s.start(l, nil, extensions.EventFileChange, extensions.EventTurnCompleted)
		for n := range 10 { // of the turns both have
			turn := fmt.Sprint("turn-", n)
			for id, fastest := range took {
				start := time.Now()
				s.fileChange(id, turn, "item", id+turn)
				l.expect(t, extensions.EventFileChange)
				s.turnEnd(id, turn)
				if got := l.expect(t, extensions.EventTurnCompleted); !strings.Contains(got.raw, "answer of "+turn+`"`) {
					t.Errorf("got %s", got.raw)
				}
				took[id] = min(fastest, time.Since(start))
			}
		}
		ratio := float64(took["long"]) / float64(took["short"])
		t.Logf("%v of 10 turns, %v of 1,200 (%.2fx)", took["short"], took["long"], ratio)
		if ratio > 2 {
			t.Errorf("two events take %.1f times as long of 1,200 turns as of 10", ratio)
		}
	})
}

// live gives a session turns of three entries each.
func (s *site) live(session string, turns int) {
	s.t.Helper()
	_, err := s.journal.Commit(s.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		for n := range turns {
			turn := fmt.Sprint("turn-", n)
			for i, text := range []string{"question of ", "thought of ", "answer of "} {
				_, _, err := transcript.Store{}.UpsertItem(ctx, tx, session,
					transcript.Entry{MessageID: fmt.Sprint(turn, "-", i), TurnID: turn,
						Role: "assistant", Type: "agentMessage", Content: text + turn, Status: transcript.Complete})
				if err != nil {
					return nil, err
				}
			}
		}
		return nil, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
