package manager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
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
