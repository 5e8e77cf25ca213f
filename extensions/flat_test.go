package extensions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"harness/extensions"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/transcript"
)

// The events of a turn cost the same whether its session has 10 turns or 1,200.
func TestEventsOfATurnAreFlat(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, l := newSite(t, db), newListener(queued)
		project := "p1"
		lengths := map[string]int{}
		for _, try := range []string{"1", "2", "3"} {
			lengths["short"+try], lengths["long"+try] = 10, 1200
		}
		for id, turns := range lengths {
			s.hosted.infos[id] = extensions.SessionInfo{ID: id, ProjectID: &project}
			s.live(id, turns)
		}
		s.start(l, nil, extensions.EventFileChange, extensions.EventTurnCompleted)
		// Other processes load the machine, but a real cost shows in every attempt.
		ratio := s.eventsOfATurn(l, "1")
		for _, try := range []string{"2", "3"} {
			if ratio > 2 {
				ratio = s.eventsOfATurn(l, try)
			}
		}
		if ratio > 2 {
			t.Errorf("two events take %.1f times as long of 1,200 turns as of 10", ratio)
		}
	})
}

// eventsOfATurn returns the ratio of the time for two events of a turn in the long session to the time in the short
// one.
func (s *site) eventsOfATurn(l *listener, try string) float64 {
	s.t.Helper()
	took := map[string]time.Duration{"short": time.Hour, "long": time.Hour}
	for n := range 10 { // turns that both sessions have
		turn := fmt.Sprint("turn-", n)
		for length, fastest := range took {
			id, start := length+try, time.Now()
			s.fileChange(id, turn, "item", id+turn)
			l.expect(s.t, extensions.EventFileChange)
			s.turnEnd(id, turn)
			if got := l.expect(s.t, extensions.EventTurnCompleted); !strings.Contains(got.raw, "answer of "+turn+`"`) {
				s.t.Errorf("got %s", got.raw)
			}
			took[length] = min(fastest, time.Since(start))
		}
	}
	ratio := float64(took["long"]) / float64(took["short"])
	s.t.Logf("%v of 10 turns, %v of 1,200 (%.2fx)", took["short"], took["long"], ratio)
	return ratio
}

// live gives a session turns with three entries each.
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
