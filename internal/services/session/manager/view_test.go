package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/stream"
	"harness/tests/dbtest"
)

// The view holds at most its maximum of sessions, plus those with running or uncommitted work. An evicted session is
// unchanged when it is loaded again.
func TestViewIsBounded(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		const keep = 16
		k.index.Max = keep
		running := k.create()
		turn := k.send(running.ID)
		ending := k.create()
		lastTurn := k.send(ending.ID)
		var quiet []session.Session
		for range 2 * keep {
			quiet = append(quiet, k.create())
		}
		if _, err := k.Rename(t.Context(), quiet[0].ID, "quiet"); err != nil {
			t.Fatal(err)
		}
		if n := k.index.Len(); n < 2*keep {
			t.Fatalf("%d sessions are held: those just used must stay", n)
		}

		// The store is blocked: only this server knows the end of the turn.
		standing, goOn := make(chan struct{}), make(chan struct{})
		k.do(k.log.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
			close(standing)
			<-goOn
			return nil, nil
		}, nil))
		<-standing
		k.fake.end(ending.ID, lastTurn, runtime.TurnDone)
		k.ahead.Store(int64(5 * time.Minute))
		k.Service.Slots.makeRoom(t.Context())
		if n := k.index.Len(); n < 2*keep {
			t.Fatalf("%d sessions are held while nothing can be committed", n)
		}
		close(goOn)
		k.eventually("there is room", func() bool { return k.index.Len() <= keep })
		if k.index.ActiveTurn(running.ID) != turn {
			t.Error("a session with a running turn was left out")
		}
		k.fake.notify(ending.ID, "", "thread/status/changed", nil)
		if active := k.index.ActiveTurn(ending.ID); active != "" {
			t.Errorf("turn %s runs again", active)
		}

		// Reading many sessions makes room automatically, and reloaded sessions are unchanged.
		k.ahead.Store(int64(10 * time.Minute))
		for _, s := range quiet {
			k.fake.notify(s.ID, "", "thread/status/changed", nil)
		}
		k.ahead.Store(int64(15 * time.Minute))
		k.create()
		k.eventually("there is room again", func() bool { return k.index.Len() <= keep+keep/8+1 })
		events := k.records()
		for _, record := range events {
			if record.SessionID == quiet[0].ID && record.Type == stream.EventNotification &&
				metaOf(t, record).ReceivedAt > time.Now().Add(time.Minute).UnixMilli() {
				if meta := metaOf(t, record); meta.Session == nil || meta.Session.Title != "quiet" {
					t.Errorf("an event of a session that was left out shows %+v", meta.Session)
				}
			}
		}
	})
}

// Changes by another node to a session, whether it is the owner or not, show in this node's events.
func TestViewFollowsOtherNodes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k, other := open(t, db, "one"), open(t, db, "two")
		s := k.create()
		k.flush()
		shown := func() (ref stream.SessionRef) {
			k.fake.notify(s.ID, "", "thread/status/changed", nil)
			k.flush()
			records, err := k.log.ReadSession(t.Context(), s.ID, 0, 10000)
			k.do(err)
			return *metaOf(t, records[len(records)-1]).Session
		}
		if got := shown(); got.Title != session.NewChatTitle || got.ProjectID != nil {
			t.Fatalf("at first %+v", got)
		}
		project, err := other.CreateProject(t.Context(), "p", nil)
		k.do(err)
		_, err = other.AssignProject(t.Context(), s.ID, &project.ID)
		k.do(err)
		k.eventually("the project shows", func() bool {
			got := shown()
			return got.ProjectID != nil && *got.ProjectID == project.ID
		})
		_, err = other.MoveChats(t.Context(), project.ID, false)
		k.do(err)
		k.eventually("the project is left", func() bool { return shown().ProjectID == nil })

		other.LoadView("codex", s.ID)
		known := func() live.Session {
			other.fake.notify("", "", "account/updated", nil) // on SQLite, a journal receives other nodes' commits when it writes
			other.flush()
			known, _ := other.index.Get(s.ID)
			return known
		}
		_, err = k.Rename(t.Context(), s.ID, "theirs")
		k.do(err)
		k.eventually("the title is known", func() bool { return known().Title == "theirs" })
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
		k.eventually("the deletion is known", func() bool { return known().Deleted })
	})
}

// An event's meta names the project that its session had at the event's position in the journal. That holds however
// assignments and events interleave.
func TestMetaIsTrueAtItsPlace(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var projects []session.Project
		for n := range 2 {
			project, err := k.CreateProject(t.Context(), fmt.Sprint("p", n), nil)
			k.do(err)
			projects = append(projects, project)
		}
		s := k.create()
		emitted := make(chan struct{})
		var emitter sync.WaitGroup
		emitter.Go(func() {
			defer close(emitted)
			for range 400 {
				k.fake.notify(s.ID, "", "thread/status/changed", nil)
			}
		})
		for n, emitting := 0, true; emitting; n++ {
			var err error
			if n%3 == 2 {
				_, err = k.MoveChats(t.Context(), projects[n%2].ID, false)
			} else {
				_, err = k.AssignProject(t.Context(), s.ID, &projects[n%2].ID)
			}
			k.do(err)
			select {
			case <-emitted:
				emitting = false
			default:
			}
		}
		emitter.Wait()
		var project *string
		checked := 0
		for _, record := range k.records() {
			if record.SessionID != s.ID {
				continue
			}
			if record.Type == session.EventProjectUpdated {
				var payload struct{ ProjectID *string }
				k.do(json.Unmarshal(record.Payload, &payload))
				project = payload.ProjectID
				continue
			}
			if meta := metaOf(t, record); meta.Session != nil {
				if checked++; !session.EqualText(meta.Session.ProjectID, project) {
					t.Fatalf("event %d shows a project other than the one it has there", record.Pos)
				}
			}
		}
		if checked < 400 {
			t.Errorf("only %d events were checked", checked)
		}
	})
}
