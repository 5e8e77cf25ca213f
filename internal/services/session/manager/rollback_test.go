package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// LastTurns and RollBack make the fake a Reverter, whose history is set by the test.
func (f *fake) LastTurns(_ context.Context, threadID string, limit int) ([]runtime.Turn, error) {
	t, err := f.withThread(threadID, nil)
	turns := slices.Clone(t.Turns)
	slices.Reverse(turns)
	return turns[:min(limit, len(turns))], err
}

func (f *fake) RollBack(_ context.Context, threadID string, numTurns int, last []runtime.Turn) (
	runtime.RolledBack, error) {
	if f.onRollBack == nil {
		f.onRollBack = func(do func()) error { do(); return nil }
	}
	done := runtime.RolledBack{Result: json.RawMessage(`{}`)}
	for _, turn := range last[:min(numTurns, len(last))] {
		done.Turns = append(done.Turns, turn.ID)
	}
	return done, f.onRollBack(func() {
		_, _ = f.withThread(threadID, func(t *runtime.Thread) { t.Turns = t.Turns[:max(0, len(t.Turns)-numTurns)] })
	})
}

// turns creates a session whose turns have one message each and have ended.
func (k *kit) turns(n int) (sessionID string, turns []string) {
	k.t.Helper()
	sessionID = k.create().ID
	for i := range n {
		turn := k.send(sessionID)
		k.fake.item(sessionID, turn, runtime.Item{ID: fmt.Sprintf("m%d", i), Role: "user", Type: "userMessage",
			Content: "hi"}, true)
		k.end(sessionID, turn)
		turns = append(turns, turn)
		_, err := k.fake.withThread(sessionID, func(t *runtime.Thread) {
			t.Turns = append(t.Turns, runtime.Turn{ID: turn, Status: runtime.TurnDone})
		})
		k.do(err)
	}
	return sessionID, turns
}

func (k *kit) shows(sessionID string) []string {
	k.t.Helper()
	return entryIDs(k.read(sessionID, wholeWindow).Transcript)
}

// A refused rollback changes nothing. If the runtime never answered, its history settles the rollback once it is
// available, on this server or the next.
func TestARollbackOfUnknownOutcomeIsSettled(t *testing.T) {
	lost := fmt.Errorf("%w: the test killed it", runtime.ErrUnavailable)
	for name, test := range map[string]struct {
		err     error
		done    bool // by the runtime
		restart bool // of the server, too
		want    []string
	}{
		"refused": {err: &runtime.Error{Runtime: "codex", Code: -32600, Message: "no"},
			want: []string{"m0", "m1", "m2"}},
		"not done":                  {err: lost, want: []string{"m0", "m1", "m2"}},
		"done":                      {err: lost, done: true, want: []string{"m0"}},
		"not done, server restarts": {err: lost, restart: true, want: []string{"m0", "m1", "m2"}},
		"done, server restarts":     {err: lost, done: true, restart: true, want: []string{"m0"}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, k *kit) {
				sess, turns := k.turns(3)
				k.fake.onRollBack = func(do func()) error {
					if test.done {
						do()
					}
					return test.err
				}
				if _, err := k.RollBack(t.Context(), sess, 2); !errors.Is(err, test.err) {
					t.Fatalf("the rollback returned %v", err)
				}
				if test.restart {
					k = k.reopenKnown()
				}
				k.fake.exited()
				k.fake.started(ids.New())
				if test.done {
					k.eventually("the rollback is settled", func() bool { return slices.Equal(k.shows(sess), test.want) })
					if published := k.one("session_rolled_back"); published != fmt.Sprintf(`{"status":"ok","sessionId":%q,"turnIds":[%q,%q]}`,
						sess, turns[1], turns[2]) {
						t.Errorf("published %s", published)
					}
				}
				next := k.send(sess)
				k.fake.item(sess, next, runtime.Item{ID: "next", Role: "user", Type: "userMessage"}, true)
				if got := k.shows(sess); !slices.Equal(got, append(test.want, "next")) {
					t.Errorf("after the next turn: %v", got)
				}
				open, err := k.OpenRollbacks(t.Context(), "codex")
				if err != nil || len(open) != 0 {
					t.Errorf("still open: %v (%v)", open, err)
				}
			})
		})
	}
}

// A rollback changes the version, and hides all entries of its turns, including later ones. Lists reflect it: an error
// in a rolled-back turn is no longer the last error.
func TestARollbackShowsEverywhere(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		sess, turns := k.turns(2)
		failed := k.send(sess)
		k.fake.end(sess, failed, runtime.TurnFailed)
		before := k.read(sess, wholeWindow)
		if _, err := k.RollBack(t.Context(), sess, 1); err != nil {
			t.Fatal(err)
		}
		k.do(k.UpsertTranscript(t.Context(), sess, transcript.Entry{MessageID: "late", TurnID: turns[1], Role: "system",
			Type: "note", Status: transcript.Complete}))
		after := k.read(sess, wholeWindow)
		if got := entryIDs(after.Transcript); !slices.Equal(got, []string{"m0"}) || after.Version == before.Version ||
			after.Pos <= before.Pos {
			t.Errorf("shows %v, version %s after %s, at %d after %d", got, after.Version, before.Version, after.Pos, before.Pos)
		}
		if whole := k.read(sess, session.Reading{}); !slices.Equal(entryIDs(whole.Transcript), []string{"m0"}) {
			t.Errorf("the whole shows %v", entryIDs(whole.Transcript))
		}
		page, err := k.List(t.Context(), session.ListQuery{})
		if err != nil || len(page.Sessions) != 1 || page.Sessions[0].Activity.LastError != nil || page.Pos != after.Pos {
			t.Errorf("listed %+v at %d (%v)", page.Sessions, page.Pos, err)
		}
		older := k.read(sess, session.Reading{Window: &transcript.Window{Limit: 5, Before: "m1"}})
		if got := entryIDs(older.Transcript); !slices.Equal(got, []string{"m0"}) {
			t.Errorf("before an entry that went: %v", got)
		}
	})
}
