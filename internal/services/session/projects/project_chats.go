package projects

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// MoveChats removes all user sessions from a project, in the order they joined it. If archive is set, it archives them
// first. Errors are ErrProjectNotFound, and for a session to archive *NotMaterializedError or *NotOwnerError, before
// anything moves.
func (p *Catalog) MoveChats(ctx context.Context, projectID string, archive bool) (session.MovedChats, error) {
	chats, err := p.chats(ctx, p.options.DB.Read(), projectID)
	if err != nil {
		return session.MovedChats{}, err
	}
	if !archive {
		moved, err := p.release(ctx, projectID, "")
		return session.MovedChats{Moved: moved}, err
	}
	toArchive := slices.DeleteFunc(slices.Clone(chats), func(chat session.Session) bool { return chat.Archived })
	if err := p.checkOwners(toArchive); err != nil {
		return session.MovedChats{}, err
	}
	if err := p.allMaterialized(ctx, projectID, toArchive); err != nil {
		return session.MovedChats{}, err
	}
	var counts session.MovedChats
	for _, chat := range chats {
		if chat.Archived {
			counts.AlreadyArchived++
		} else if _, err := p.options.Sessions.Archive(ctx, chat.ID); session.Absent(err) {
			continue // deleted since the read
		} else if err != nil {
			return counts, err
		} else {
			counts.Archived++
		}
		moved, err := p.release(ctx, projectID, chat.ID)
		if err != nil {
			return counts, err
		}
		counts.Moved += moved
	}
	return counts, nil
}

// DeleteChats deletes all user sessions in a project, in the order they joined it. All of them share the time that
// Delete waits for a runtime. skipped counts the sessions that another client deleted during the call. Errors are
// ErrProjectNotFound, and *NotOwnerError before anything is deleted.
func (p *Catalog) DeleteChats(ctx context.Context, projectID string) (deleted, skipped int, err error) {
	chats, err := p.chats(ctx, p.options.DB.Read(), projectID)
	if err != nil {
		return 0, 0, err
	}
	if err := p.checkOwners(chats); err != nil {
		return 0, 0, err
	}
	by := time.Now().Add(session.DeletePatience)
	for _, chat := range chats {
		_, err := p.options.Sessions.DeleteBy(ctx, chat.ID, by)
		switch {
		case session.Absent(err):
			skipped++
		case err != nil:
			return deleted, skipped, err
		default:
			deleted++
		}
	}
	return deleted, skipped, nil
}

// chats lists a project's user sessions, in the order they joined it.
func (p *Catalog) chats(ctx context.Context, q database.Querier, projectID string) ([]session.Session, error) {
	if _, err := store.ReadProject(ctx, q, projectID); err != nil {
		return nil, err
	}
	return database.ReadAll(ctx, q, "list chats of project "+projectID, func(row database.Row) (session.Session, error) {
		stored, err := store.ScanSession(row)
		return stored.Session, err
	}, `select `+store.SessionColumns+` from sessions where project_id = $1 and system_owned = 0 order by project_rank, id`,
		database.EncodeText(projectID))
}

// release removes a project's chats from it and returns their number. With an id in only, it removes just that chat.
func (p *Catalog) release(ctx context.Context, projectID, only string) (int, error) {
	at := p.options.Now()
	var released atomic.Int64 // the unit may still run after this call returns
	unit := func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		released.Store(0)
		chats, err := p.chats(ctx, tx, projectID)
		if errors.Is(err, session.ErrProjectNotFound) {
			return nil, journal.Refuse(err)
		}
		if err != nil {
			return nil, err
		}
		var events []journal.Event
		for _, chat := range chats {
			if only != "" && chat.ID != only {
				continue
			}
			if err := store.UpdateSession(ctx, tx, chat.ID, `project_id = null, project_rank = 0`); err != nil {
				return nil, err
			}
			released.Add(1)
			events = append(events, sessionReleased(chat.ID, at))
		}
		return events, nil
	}
	var placed []string
	// Do not cancel halfway: the unit writes the result.
	err := p.options.Sessions.InOrder(context.WithoutCancel(ctx), func() journal.Unit {
		placed = p.options.Index.ReleaseProject(projectID, only)
		return unit
	})
	if err != nil {
		for _, id := range placed {
			p.options.Refetch(id)
		}
	}
	return int(released.Load()), err
}

// checkOwners refuses if another node owns one of the chats.
func (p *Catalog) checkOwners(chats []session.Session) error {
	for _, chat := range chats {
		if err := p.options.Sessions.CheckOwner(chat); err != nil {
			return err
		}
	}
	return nil
}

// allMaterialized refuses if a chat to archive is empty.
func (p *Catalog) allMaterialized(ctx context.Context, projectID string, chats []session.Session) error {
	var empty []string
	for _, chat := range chats {
		has, err := p.hasContent(ctx, chat)
		if err != nil {
			return err
		}
		if !has {
			empty = append(empty, chat.ID)
		}
	}
	if len(empty) > 0 {
		return &session.NotMaterializedError{ProjectID: projectID, SessionIDs: empty}
	}
	return nil
}

// hasContent reports whether a session has a message, here or in its runtime since before its adoption.
func (p *Catalog) hasContent(ctx context.Context, session session.Session) (bool, error) {
	turns, err := store.ReadTurns(ctx, p.options.DB.Read(), session.ID)
	if err != nil || len(turns) > 0 {
		return len(turns) > 0, err
	}
	adapter, err := p.options.Runtimes.Adapter(session.Runtime)
	if err != nil {
		return false, err
	}
	historian, ok := runtime.Has[runtime.History](adapter, runtime.OpHistory)
	if !ok {
		return false, nil
	}
	t, err := historian.ReadThread(ctx, session.RuntimeSessionID, false)
	if errors.Is(err, runtime.ErrThreadNotFound) {
		return false, nil
	}
	return t.Preview != "", err
}
