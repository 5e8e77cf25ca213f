package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"harness/internal/platform/cluster/bus"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// node is a journal that practically never polls, and its bus.
type node struct {
	journal        *journal.Journal
	bus            *bus.Bus
	got            chan journal.Record
	sent, received chan struct{} // buffered for all notifications of a test
}

func startNode(t *testing.T, db *database.DB, name string) *node {
	t.Helper()
	n := &node{got: make(chan journal.Record, 1000), sent: make(chan struct{}, 1000), received: make(chan struct{}, 1000)}
	n.bus = bus.New(bus.Options{DB: db, Self: name, Poll: func() { n.journal.PollNow() }, CheckAfter: 20 * time.Millisecond,
		Sent: func() { n.sent <- struct{}{} }, Received: func() { n.received <- struct{}{} }})
	n.journal = journal.New(db, journal.Options{PollInterval: time.Hour, Hooks: journal.Hooks{Announce: n.bus.Announce}})
	n.journal.Subscribe(func(records []journal.Record) {
		for _, r := range records {
			n.got <- r
		}
	})
	for range 2 {
		if err := errors.Join(n.journal.Start(t.Context()), n.bus.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for range 2 {
			if err := errors.Join(n.bus.Stop(context.Background()), n.journal.Stop(context.Background())); err != nil {
				t.Error(err)
			}
		}
	})
	return n
}

func (n *node) append(t *testing.T, payload string) {
	t.Helper()
	if _, err := n.journal.Append(t.Context(), journal.Event{SessionID: "s", Type: "x", Payload: json.RawMessage(payload)}); err != nil {
		t.Fatal(err)
	}
}

func (n *node) next(t *testing.T, payload string) {
	t.Helper()
	select {
	case r := <-n.got:
		if string(r.Payload) != payload {
			t.Fatalf("event %d is %s, want %s", r.Pos, r.Payload, payload)
		}
	case <-time.After(patience):
		t.Fatalf("event %s did not come", payload)
	}
}

// Each node reads the other's commits without its poll, also after the channels were lost.
func TestEventsOfOtherNodesComeWithoutThePoll(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	a, b := startNode(t, db, "a"), startNode(t, db, "b")
	for range 3 {
		a.append(t, `"of a"`)
		a.next(t, `"of a"`)
		b.next(t, `"of a"`)
		b.append(t, `"of b"`)
		a.next(t, `"of b"`)
		b.next(t, `"of b"`)
	}
	cut := func() int {
		var n int
		if err := db.Read().QueryRowContext(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where application_name = 'harness bus ' || md5(current_schema())`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := cut(); n != 4 {
		t.Fatalf("%d channels were cut, want 2 of each node", n)
	}
	a.append(t, `"without a listener"`)
	b.next(t, `"without a listener"`)
}

// A node ignores its own notifications, and many commits share a few notifications.
func TestNotificationsAreBatched(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	a, b := startNode(t, db, "a"), startNode(t, db, "b")
	if !polling.Until(patience, func() bool { a.bus.Announce(); return len(b.received) > 0 }) {
		t.Fatal("b does not listen")
	}
	before, received := len(a.sent), len(b.received)
	const commits = 200
	var appending sync.WaitGroup
	for range 4 {
		appending.Go(func() {
			for range commits / 4 {
				if _, err := a.journal.Append(context.Background(), journal.Event{Type: "x", Payload: json.RawMessage(`1`)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	appending.Wait()
	for range commits {
		b.next(t, `1`)
	}
	if err := a.bus.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sent := len(a.sent) - before; sent == 0 || sent >= commits {
		t.Errorf("%d commits were announced in %d notifications", commits, sent)
	}
	again := polling.Until(patience, func() bool { return len(b.received) > received })
	if !again || len(a.received) != 0 {
		t.Errorf("a received %d notifications, b %d", len(a.received), len(b.received))
	}
}

// A SQLite file has no other processes.
func TestSQLiteHasNoChannel(t *testing.T) {
	t.Parallel()
	if _, err := dbtest.Open(t, database.SQLite).OpenChannel(t.Context()); !errors.Is(err, database.ErrNoChannels) {
		t.Errorf("the error is %v", err)
	}
}
