package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/stream"
)

// onRecords handles the journal's records of this node and others. It wakes the delivery of decisions. It looks up
// titles, projects and deletions that the view lacks.
func (s *Service) onRecords(records []journal.Record) {
	for _, record := range records {
		switch record.Type {
		case session.EventDeleted:
			s.natives.Drop(record.SessionID)
		case session.EventTaken:
			s.Moved.Add(1)
			s.adoption.wantAgain(record.SessionID)
			continue
		case eventSessionRenamed, session.EventProjectUpdated:
		case entryof.EventApprovalResolved, entryof.EventToolInputResolved, entryof.EventToolCallResolved:
			s.delivery.wake.Set()
			s.questions.wake(record)
			continue
		case session.EventTranscriptUpdated:
			if strings.HasPrefix(record.ItemID, session.TurnErrorPrefix) {
				logFailure(s.opts.Logger, record)
			}
			continue
		default:
			continue
		}
		var news struct {
			SessionID string  `json:"sessionId"`
			Title     string  `json:"title"`
			ProjectID *string `json:"projectId"`
		}
		if err := json.Unmarshal(record.Payload, &news); err != nil {
			continue // an event of this package that cannot be decoded
		}
		known, ok := s.index.Peek(news.SessionID)
		switch {
		case !ok:
		case record.Type == eventSessionRenamed && known.Title == news.Title:
		case record.Type == session.EventProjectUpdated && session.EqualText(known.ProjectID, news.ProjectID):
		case record.Type == session.EventDeleted && known.Deleted:
		default:
			s.adoption.wantAgain(news.SessionID)
		}
	}
}

// refresh updates the view's title and project of a session from the store. A concurrent change of the view is newer
// than the read; its own event follows.
func (s *Service) refresh(ctx context.Context, id string) error {
	before, ok := s.index.Peek(id)
	if !ok {
		return nil
	}
	stored, err := store.ReadSession(ctx, s.db.Read(), id)
	var gone *session.DeletedError
	if errors.Is(err, session.ErrNotFound) {
		return nil // its row is not committed yet
	}
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	if gone == nil && stored.Epoch > 0 && !s.Ownership.Owns(stored.Session) && before.Epoch != live.NotOwned {
		s.releaseToOwner(ctx, stored.Session, before.ActiveTurn)
	}
	s.index.Update(id, func(t *live.Session) {
		switch {
		case gone != nil:
			t.Deleted = true
			t.SetIdle()
		case t.NameChanges == before.NameChanges:
			t.SetTitle(stored.Title)
			t.NamedByUser = stored.TitleSource == session.TitleUser
			t.SetProject(stored.ProjectID)
		}
	})
	return nil
}

// nameAfter names a session without a name after its first message. The message of this call is not the first one in
// a session that is older than automatic names.
func (s *Service) nameAfter(ctx context.Context, tx database.Tx, sess session.Session, turnID string, message session.Message, at int64) (
	[]journal.Event, error) {
	if sess.Name != "" {
		return nil, nil
	}
	stored, err := store.ReadSession(ctx, tx, sess.ID)
	if err != nil || stored.Name != "" {
		return nil, err
	}
	name := message.Title()
	first, there, err := s.entries.First(ctx, tx, sess.ID)
	if err != nil {
		return nil, err
	}
	if there && first.Role == "user" && first.TurnID != turnID {
		name = cmp.Or(session.TitleOf(first.Content), name)
	}
	if name == "" {
		return nil, nil
	}
	if err := store.NameSession(ctx, tx, sess.ID, name); err != nil {
		return nil, err
	}
	return []journal.Event{session.NewEvent(sess.ID, stream.ConsoleEvents+"session_titled", at, stored.SystemOwned, encode(struct {
		SessionID string              `json:"sessionId"`
		Title     string              `json:"title"`
		Source    session.TitleSource `json:"titleSource"`
	}{sess.ID, name, session.TitleAuto}))}, nil
}

// overruled reports whether a runtime names a session that a user named. A runtime that stores names has the user's
// name, so a different one is a later rename.
func (s *Service) overruled(runtimeName string, signal runtime.Signal) bool {
	named, is := signal.Change.(runtime.ThreadNamed)
	if !is {
		return false
	}
	known, _ := s.index.Peek(signal.ThreadID)
	if !known.NamedByUser || known.Title == named.Name {
		return false
	}
	adapter, err := s.Registry.Adapter(runtimeName)
	if err != nil {
		return false
	}
	_, stores := runtime.Has[runtime.Archiver](adapter, runtime.OpArchive)
	return !stores
}

// recordAuthor stores the author of a message. The console's view gets it with the number of the message in its turn.
func (s *Service) recordAuthor(ctx context.Context, tx database.Tx, sessionID, turnID string, message session.Message) (
	[]journal.Event, error) {
	if message.Author.Actor == "" {
		return nil, nil // the server's own
	}
	systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
	if session.Absent(err) {
		return nil, nil
	}
	text, unreadable := contentOf(message.StoredInput())
	if err = errors.Join(err, unreadable); err != nil {
		return nil, err
	}
	number, err := store.AddMessageAuthor(ctx, tx, sessionID, turnID, text, message.Author)
	return []journal.Event{session.NewEvent(sessionID, stream.ConsoleEvents+"message_authored", message.Author.At, systemOwned,
		encode(struct {
			SessionID string         `json:"sessionId"`
			TurnID    string         `json:"turnId"`
			Number    int64          `json:"number"`
			Author    session.Author `json:"author"`
		}{sessionID, turnID, number, message.Author.Named()}))}, err
}
