package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/tests/dbtest"
	"harness/transcript"
)

// Reading one turn costs the same whether its session has 10 turns or 1,200.
func TestReadsOfATurnAreFlat(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := open(t, db, "node")
		short, long := k.create().ID, k.create().ID
		k.live(short, 10)
		k.live(long, 1200)
		k.analyze()
		turnOf := map[string]string{short: "turn-9", long: "turn-1199"}
		for name, read := range map[string]func(ctx context.Context, sessionID, turnID string) error{
			"Turn": func(ctx context.Context, sessionID, turnID string) error {
				state, known, err := k.Turn(ctx, sessionID, turnID)
				if !known || state.Status != runtime.TurnDone {
					t.Errorf("turn %s is %+v, known %t", turnID, state, known)
				}
				return err
			},
			"TurnEntries": func(ctx context.Context, sessionID, turnID string) error {
				entries, err := k.TurnEntries(ctx, sessionID, turnID)
				if len(entries) != 3 || entries[2].Content != "answer of "+turnID {
					t.Errorf("entries of %s: %+v", turnID, entries)
				}
				return err
			},
		} {
			ratio := 5.0
			for try := 0; ratio > 4 && try < flatTries; try++ {
				took := map[string]time.Duration{short: time.Hour, long: time.Hour}
				for range 50 { // the fastest of many: other load only adds time
					for id, fastest := range took {
						start := time.Now()
						k.do(read(t.Context(), id, turnOf[id]))
						took[id] = min(fastest, time.Since(start))
					}
				}
				ratio = float64(took[long]) / float64(took[short])
				t.Logf("%s: %v of 10 turns, %v of 1,200 (%.2fx)", name, took[short], took[long], ratio)
			}
			if ratio > 4 {
				t.Errorf("%s takes %.1f times as long of 1,200 turns as of 10", name, ratio)
			}
		}
	})
}

// A turn's entries equal those of the transcript: they include texts that are still growing, and nothing from
// rolled-back turns.
func TestEntriesOfATurn(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		first := k.send(s.ID)
		k.fake.item(s.ID, first, runtime.Item{ID: "one", Type: "agentMessage", Role: "assistant", Content: "first"}, true)
		k.end(s.ID, first)
		second := k.send(s.ID)
		k.fake.item(s.ID, second, runtime.Item{ID: "two", Type: "agentMessage", Role: "assistant"}, false)
		k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "note", TurnID: second, Role: "system",
			Type: "note", Content: "seen", Status: transcript.Complete}))
		k.flush()
		for _, turnID := range []string{first, second, "unknown"} {
			var want []transcript.Entry
			for _, entry := range k.stored(s.ID) {
				if entry.TurnID == turnID {
					want = append(want, entry)
				}
			}
			got, err := k.TurnEntries(t.Context(), s.ID, turnID)
			k.do(err)
			if !slices.EqualFunc(got, want, transcript.Entry.Equal) {
				t.Errorf("of turn %s there are %v, want %v", turnID, got, want)
			}
		}
		k.do(k.journal.Do(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, k.entries.RollBack(ctx, tx, s.ID, []string{first}, k.now())
		}))
		if got, err := k.TurnEntries(t.Context(), s.ID, first); err != nil || len(got) != 0 {
			t.Errorf("of a turn that was taken back there are %v, %v", got, err)
		}
		_, err := k.Delete(t.Context(), s.ID)
		k.do(err)
		var gone *session.DeletedError
		if _, err := k.TurnEntries(t.Context(), s.ID, second); !errors.As(err, &gone) {
			t.Errorf("of a deleted session: %v", err)
		}
	})
}

// live adds turns of three items each to a session.
func (k *kit) live(sessionID string, turns int) {
	k.t.Helper()
	k.do(k.journal.Do(k.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		for n := range turns {
			turnID := fmt.Sprint("turn-", n)
			err := store.CloseTurn(ctx, tx, store.Turn{SessionID: sessionID, TurnID: turnID, Status: runtime.TurnDone, NodeID: "node",
				StartedAt: int64(n + 1), CompletedAt: int64(n + 2)})
			for i, text := range []string{"question of ", "thought of ", "answer of "} {
				_, _, failed := k.entries.UpsertItem(ctx, tx, sessionID,
					transcript.Entry{MessageID: fmt.Sprint(turnID, "-", i), TurnID: turnID,
						Role: "assistant", Type: "agentMessage", Content: text + turnID, Status: transcript.Complete})
				err = errors.Join(err, failed)
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}))
}
