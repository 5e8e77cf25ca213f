package manager

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/migrations"
	"harness/tests/dbtest"
	"harness/transcript"
)

// openFull opens a Service on a store that can be made to refuse writes like a full disk.
func openFull(t *testing.T) (k *kit, refuse, mend func()) {
	t.Helper()
	role := dbtest.NewRole(t)
	db := dbtest.Connect(t, database.Options{URL: role.URL})
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
		t.Fatal(err)
	}
	role.Do(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no space' using errcode = '53100'; end $$`)
	k = openWith(t, db, "node", func(*Options) {})
	return k, func() {
			role.Do(`create trigger refuse before insert on journal_events for each statement execute function refuse()`)
		},
		func() {
			role.Do(`drop trigger refuse on journal_events`)
			k.do(k.log.AwaitWrites(t.Context()))
		}
}

// While the store refuses writes, a runtime receives nothing that could not be stored. Calls that it received earlier
// are stored afterwards, and their callers learn not to repeat them.
func TestARuntimeGetsNothingThatCannotBeStored(t *testing.T) {
	t.Parallel()
	k, refuse, mend := openFull(t)
	sess := k.create()
	ctx := journal.Patient(t.Context(), 20*time.Millisecond)
	k.fake.onTurn = func(_ runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
		refuse()
		return runtime.StartedTurn{TurnID: turnID}, nil
	}
	var outage *journal.OutageError
	_, err := k.Send(ctx, sess.ID, session.Message{Text: "taken"})
	if !errors.As(err, &outage) || !errors.Is(err, runtime.ErrTimeout) {
		t.Fatalf("what the runtime has taken: %v", err)
	}
	for name, wish := range map[string]func() error{
		"send":   func() error { _, err := k.Send(ctx, sess.ID, session.Message{Text: "not taken"}); return err },
		"create": func() error { _, err := k.Create(ctx, session.Create{}); return err },
		"rename": func() error { _, err := k.Rename(ctx, sess.ID, "not sent"); return err },
		"delete": func() error { _, err := k.Delete(ctx, sess.ID); return err },
		"roll back": func() error {
			_, err := k.RollBack(ctx, sess.ID, 1)
			return err
		},
		"upsert": func() error { return k.UpsertTranscript(ctx, sess.ID, transcript.Entry{MessageID: "m"}) },
		"decide": func() error {
			_, err := k.Settle(ctx, "unknown", runtime.RequestApproval, runtime.Reply{Decision: "accept"}, "test")
			return err
		},
		"project": func() error { _, err := k.CreateProject(ctx, "p", nil); return err },
	} {
		outage = nil
		if err := wish(); !errors.As(err, &outage) || errors.Is(err, runtime.ErrTimeout) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if turns, _ := k.fake.seen(); len(turns) != 1 {
		t.Errorf("the runtime received %v", turns)
	}
	mend()
	k.flush()
	turns, err := store.ReadTurns(t.Context(), k.db.Read(), sess.ID)
	if err != nil || len(turns) != 1 || turns[0].Status != runtime.TurnInProgress {
		t.Errorf("stored turns: %+v, %v", turns, err)
	}
	if left, err := k.Lookup(t.Context(), sess.ID); err != nil || left.Title == "not sent" {
		t.Errorf("the session is %+v, %v", left, err)
	}
}

// A runtime blocks if its output exceeds the buffer in front of a store that refuses writes. Clients that change a
// session do not block with it.
func TestABlockedRuntimeBlocksNoCaller(t *testing.T) {
	t.Parallel()
	k, refuse, mend := openFull(t)
	session := k.create()
	refuse()
	const said = 3000
	var speaking sync.WaitGroup
	sent := make(chan int, said)
	speaking.Go(func() {
		for n := range said {
			k.fake.say(session.ID, n)
			sent <- n
		}
	})
	// The runtime is blocked once it has emitted nothing for a while.
	for last := -1; last < 0 || len(sent) != last; <-time.After(200 * time.Millisecond) {
		last = len(sent)
	}
	if len(sent) == said {
		t.Fatal("the runtime was not held up")
	}
	var outage *journal.OutageError
	if _, err := k.AssignProject(journal.Patient(t.Context(), 20*time.Millisecond), session.ID, nil); !errors.As(
		err, &outage) {
		t.Errorf("a caller behind the runtime: %v", err)
	}
	mend()
	speaking.Wait()
	numbers := 0
	for _, record := range k.records() {
		if string(record.Payload) == fmt.Sprintf(`{"method":"said","params":{"n":%d}}`, numbers) {
			numbers++
		}
	}
	if numbers != said {
		t.Errorf("%d of %d are stored in order", numbers, said)
	}
}

// say sends a notification without a meaning.
func (f *fake) say(sessionID string, n int) {
	raw := fmt.Sprintf(`{"method":"said","params":{"n":%d}}`, n)
	f.emit(runtime.Signal{Kind: runtime.SignalNotification, ThreadID: sessionID, Method: "said", Raw: []byte(raw)})
}
