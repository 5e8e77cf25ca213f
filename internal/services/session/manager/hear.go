package manager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// hear is the journal's news, of this node and of others: a decision may be one to deliver, and a title, project or
// deletion that the view does not show yet is looked up.
func (s *Service) hear(records []journal.Record) {
	for _, record := range records {
		switch record.Type {
		case session.EventDeleted:
			s.dropNative(record.SessionID)
		case session.EventTaken:
			s.moved.Add(1)
			s.adoption.wantAgain(record.SessionID)
			continue
		case eventSessionRenamed, eventProjectUpdated:
		case eventApprovalResolved, eventToolInputResolved, eventToolCallResolved:
			s.delivery.want()
			s.asking.wake(record)
			continue
		case eventTranscriptUpdated:
			if strings.HasPrefix(record.ItemID, turnErrorPrefix) {
				s.logFailure(record)
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
			continue // an event of ours that nobody can read tells nothing
		}
		known, ok := s.view.peek(news.SessionID)
		switch {
		case !ok:
		case record.Type == eventSessionRenamed && known.title == news.Title:
		case record.Type == eventProjectUpdated && same(known.projectID, news.ProjectID):
		case record.Type == session.EventDeleted && known.deleted:
		default:
			s.adoption.wantAgain(news.SessionID)
		}
	}
}

// look brings the view's title and project of a session up to what is stored. What changes in the view meanwhile is
// newer than what was read; its own event is heard later.
func (s *Service) look(ctx context.Context, id string) error {
	before, ok := s.view.peek(id)
	if !ok {
		return nil
	}
	stored, err := readSession(ctx, s.db.Read(), id)
	var gone *session.DeletedError
	if errors.Is(err, session.ErrNotFound) {
		return nil // its row is still on its way
	}
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	if gone == nil && stored.Epoch > 0 && !s.Owns(stored.Session) && before.epoch != notOwned {
		s.giveUp(ctx, stored.Session, before.activeTurn)
	}
	s.view.change(id, func(t *thread) {
		switch {
		case gone != nil:
			t.deleted = true
			t.rest()
		case t.named == before.named:
			t.call(stored.Title)
			t.place(stored.ProjectID)
		}
	})
	return nil
}
