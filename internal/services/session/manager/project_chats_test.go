package manager

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// fakeWorkers stores worker sessions, as far as this package needs that.
type fakeWorkers struct{ k *kit }

func (f fakeWorkers) WorkerSessions(ctx context.Context, owner string) (found []session.AgentSession, err error) {
	rows, err := f.k.db.Read().QueryContext(ctx,
		`select agent, session_id from agent_workers where owner = $1 order by agent`, owner)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one session.AgentSession
		if err := rows.Scan(&one.Agent, &one.SessionID); err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, rows.Err()
}

func (f fakeWorkers) DismissWorkersIn(ctx context.Context, tx database.Tx, owner string) ([]string, error) {
	sessions, err := f.WorkerSessions(ctx, owner)
	var ids []string
	for _, one := range sessions {
		ids = append(ids, one.SessionID)
	}
	_, deleteErr := tx.ExecContext(ctx, `delete from agent_workers where owner = $1`, owner)
	return ids, errors.Join(err, deleteErr)
}

func (f fakeWorkers) Works(ctx context.Context, id string) (bool, error) {
	var n int
	err := f.k.db.Read().QueryRowContext(ctx, `select count(*) from agent_workers where session_id = $1`, id).Scan(&n)
	return n > 0, err
}

func (f fakeWorkers) add(owner, agent, sessionID string) {
	f.k.t.Helper()
	f.k.do(f.k.journal.Do(f.k.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx,
			`insert into agent_workers (owner, agent, node_id, session_id, prepared) values ($1, $2, 'n', $3, '[]')`, owner,
			agent, sessionID)
		return nil, err
	}))
}

// worker creates a worker session for an owner.
func (k *kit) worker(f fakeWorkers, owner string) string {
	k.t.Helper()
	s, err := k.Create(k.t.Context(), session.Create{SystemOwned: true})
	k.do(err)
	f.add(owner, "supervisor", s.ID)
	return s.ID
}

func (k *kit) project(name string) session.Project {
	k.t.Helper()
	p, err := k.CreateProject(k.t.Context(), name, nil)
	k.do(err)
	return p
}

func (k *kit) assign(sessionID string, projectID *string) {
	k.t.Helper()
	_, err := k.AssignProject(k.t.Context(), sessionID, projectID)
	k.do(err)
}

func (k *kit) isDeleted(sessionID string) bool {
	k.t.Helper()
	var gone *session.DeletedError
	_, err := k.Lookup(k.t.Context(), sessionID)
	return errors.As(err, &gone)
}

// payloads returns the payloads of all events of a type from the n-th on.
func (k *kit) payloads(kind string, since int) (out []string) {
	k.t.Helper()
	for _, event := range k.events(kind)[since:] {
		out = append(out, string(event.Payload))
	}
	return out
}

func TestMoveChats(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p, id := k.project("P"), ""
		a, b, c := k.create(), k.create(), k.create()
		id = p.ID
		k.end(a.ID, k.send(a.ID))
		for _, s := range []session.Session{c, a, b} {
			k.assign(s.ID, &id)
		}
		published := len(k.events("session_project_updated"))
		k.assign(a.ID, &id)
		if len(k.events("session_project_updated")) != published {
			t.Error("an assignment that changed nothing was announced")
		}

		var empty *session.NotMaterializedError
		if _, err := k.MoveChats(t.Context(), id, true); !errors.As(err, &empty) ||
			!slices.Equal(empty.SessionIDs, []string{c.ID, b.ID}) {
			t.Fatalf("archive with empty chats: %v", err)
		}
		moved, err := k.MoveChats(t.Context(), id, false)
		if err != nil || moved != (session.MovedChats{Moved: 3}) {
			t.Errorf("moved %+v, %v", moved, err)
		}
		want := []string{}
		for _, s := range []session.Session{c, a, b} {
			want = append(want, `{"sessionId":"`+s.ID+`","projectId":null}`)
		}
		if got := k.payloads("session_project_updated", published); !slices.Equal(got, want) {
			t.Errorf("published %v\nwant %v", got, want)
		}
		if again, err := k.MoveChats(t.Context(), id, true); err != nil || again != (session.MovedChats{}) {
			t.Errorf("an empty project: %+v, %v", again, err)
		}

		k.assign(a.ID, &id)
		if moved, err := k.MoveChats(t.Context(), id, true); err != nil || moved != (session.MovedChats{Moved: 1, Archived: 1}) {
			t.Errorf("archived %+v, %v", moved, err)
		}
		if s, err := k.Lookup(t.Context(), a.ID); err != nil || !s.Archived || s.ProjectID != nil {
			t.Errorf("archived chat %+v, %v", s, err)
		}
		k.assign(a.ID, &id)
		if moved, err := k.MoveChats(t.Context(), id, true); err != nil ||
			moved != (session.MovedChats{Moved: 1, AlreadyArchived: 1}) {
			t.Errorf("archived again %+v, %v", moved, err)
		}
		if _, err := k.MoveChats(t.Context(), "nope", true); !errors.Is(err, session.ErrProjectNotFound) {
			t.Errorf("unknown project: %v", err)
		}
	})
}

func TestDeleteChats(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := k.project("P")
		a, b, other := k.create(), k.create(), k.create()
		k.assign(b.ID, &p.ID)
		k.assign(a.ID, &p.ID)
		deleted, skipped, err := k.DeleteChats(t.Context(), p.ID)
		if err != nil || deleted != 2 || skipped != 0 || !k.isDeleted(a.ID) || !k.isDeleted(b.ID) || k.isDeleted(other.ID) {
			t.Errorf("deleted %d, skipped %d, %v", deleted, skipped, err)
		}
		published := k.payloads("session_deleted", 0)
		if len(published) != 2 || !strings.Contains(published[0], b.ID) || !strings.Contains(published[1], a.ID) {
			t.Errorf("published %v", published)
		}
		if _, _, err := k.DeleteChats(t.Context(), "nope"); !errors.Is(err, session.ErrProjectNotFound) {
			t.Errorf("unknown project: %v", err)
		}
		if _, err := k.DeleteProject(t.Context(), p.ID); err != nil {
			t.Errorf("the emptied project: %v", err)
		}
	})
}

func TestRenameProjectTimes(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		p := k.project("P")
		k.do(k.journal.Do(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			_, err := tx.ExecContext(ctx, `update projects set updated_at = 5`)
			return nil, err
		}))
		same, err := k.RenameProject(t.Context(), p.ID, "P", nil, false)
		if err != nil || same.UpdatedAt != 5 || len(k.events("project_upserted")) != 2 {
			t.Errorf("renamed to the same %+v, %v: published, but not newer", same, err)
		}
		if other, err := k.RenameProject(t.Context(), p.ID, "p", nil, false); err != nil || other.UpdatedAt <= 5 ||
			other.Name != "p" {
			t.Errorf("renamed %+v, %v", other, err)
		}
	})
}

func TestAgentSessions(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		f := fakeWorkers{k}
		p, s := k.project("P"), k.create()
		if none, err := k.AgentSessions(t.Context(), p.ID); err != nil || len(none) != 0 {
			t.Errorf("without that room: %v, %v", none, err)
		}
		k.SetWorkers(f)
		for owner, known := range map[string]bool{p.ID: true, "nope": false, "session:": false, "session:whatever": true,
			"sessions:x": false} {
			none, err := k.AgentSessions(t.Context(), owner)
			if len(none) != 0 || known != (err == nil) || !known && !errors.Is(err, session.ErrProjectNotFound) {
				t.Errorf("%s: %v, %v", owner, none, err)
			}
		}
		first := k.worker(f, p.ID)
		f.add(p.ID, "ghost", ids.New())
		if got, err := k.AgentSessions(t.Context(), p.ID); err != nil ||
			!slices.Equal(got, []session.AgentSession{{Agent: "supervisor", SessionID: first}}) {
			t.Errorf("got %v, %v", got, err)
		}

		t.Log("another name keeps the workers, another directory does not")
		_, err := k.RenameProject(t.Context(), p.ID, "Q", nil, false)
		k.do(err)
		if k.isDeleted(first) {
			t.Error("the worker is gone")
		}
		_, err = k.RenameProject(t.Context(), p.ID, "Q", ptr("/there"), true)
		k.do(err)
		if left, err := f.WorkerSessions(t.Context(), p.ID); !k.isDeleted(first) || err != nil || len(left) != 0 {
			t.Error("the worker still works in the old directory")
		}

		t.Log("a project and a session take their workers along")
		second, third := k.worker(f, p.ID), k.worker(f, "session:"+s.ID)
		_, err = k.DeleteProject(t.Context(), p.ID)
		k.do(err)
		_, err = k.Delete(t.Context(), s.ID)
		k.do(err)
		if !k.isDeleted(second) || !k.isDeleted(third) {
			t.Error("a worker's session is left over")
		}
	})
}
