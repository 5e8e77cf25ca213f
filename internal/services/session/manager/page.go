package manager

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/transcript"
)

// TranscriptPage reads at most limit entries behind the first offset ones, as Read shows them and in its order or, newest
// first, in the reverse one. Only the page is read; the transcript's length is counted in an index. Errors are those of
// Lookup.
func (s *Service) TranscriptPage(ctx context.Context, sessionID string, offset, limit int, newestFirst bool) (
	page session.TranscriptPage, err error) {
	session, err := s.Lookup(ctx, sessionID)
	if err == nil {
		err = s.awaitHistory(ctx, session)
	}
	if err != nil {
		return page, err
	}
	err = s.db.Snapshot(ctx, func(q database.Querier) error {
		if page.Total, err = s.entries.Count(ctx, q, sessionID); err != nil {
			return err
		}
		if page.Entries, err = s.entries.Page(ctx, q, sessionID, offset, limit, newestFirst); err != nil {
			return err
		}
		if err := s.showTexts(ctx, q, sessionID, page.Entries); err != nil {
			return err
		}
		turns, err := readTurnsOf(ctx, q, sessionID, page.Entries)
		transcript.Settle(page.Entries, times(turns))
		return err
	})
	return page, err
}

// MessageCounts is how many entries the transcripts of sessions have, by session.
func (s *Service) MessageCounts(ctx context.Context, sessionIDs []string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.db.Snapshot(ctx, func(q database.Querier) error {
		for _, id := range sessionIDs {
			count, err := s.entries.Count(ctx, q, id)
			if err != nil {
				return err
			}
			counts[id] = count
		}
		return nil
	})
	return counts, err
}
