package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// SuggestionStatus is the state of a suggested request.
type SuggestionStatus string

// The states of a suggested request. All but Streaming are final.
const (
	SuggestionStreaming SuggestionStatus = "streaming"
	SuggestionComplete  SuggestionStatus = "complete"
	SuggestionError     SuggestionStatus = "error"
	SuggestionCanceled  SuggestionStatus = "canceled"
)

// Suggestion is a proposed next message of a chat, in the order of the wire. UpdatedAt is in ms.
type Suggestion struct {
	Status     SuggestionStatus `json:"status"`
	Suggestion string           `json:"suggestion,omitempty"`
	Error      string           `json:"error,omitempty"`
	UpdatedAt  int64            `json:"updatedAt"`
}

// keptSuggestions is the number of newest suggestions to keep.
const keptSuggestions = 2000

const suggestionFailed = "suggested request generation failed"

// Suggestions stores suggested requests. Make it with NewSuggestions.
type Suggestions struct {
	db       *database.DB
	journal  *journal.Journal
	sessions Transcripts
	clock    func() time.Time
}

// NewSuggestions makes the store of suggested requests; clock is time.Now when nil.
func NewSuggestions(db *database.DB, j *journal.Journal, sessions Transcripts, clock func() time.Time) *Suggestions {
	if clock == nil {
		clock = time.Now
	}
	return &Suggestions{db: db, journal: j, sessions: sessions, clock: clock}
}

// Upsert stores and announces a suggestion, and returns the stored one. "streaming" does not reopen a final suggestion,
// and Upsert then announces nothing. It returns *session.DeletedError or session.ErrNotFound if the session does not
// exist.
func (s *Suggestions) Upsert(ctx context.Context, sessionID, requestKey string, next Suggestion) (Suggestion, error) {
	var stored Suggestion
	_, err := s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
		present, err := s.sessions.PresentIn(ctx, tx, sessionID)
		if err != nil {
			return nil, err
		}
		if !present {
			return nil, journal.Refuse(session.ErrNotFound)
		}
		stored, events, err = s.put(ctx, tx, sessionID, requestKey, next)
		return events, err
	})
	return stored, err
}

// put is Upsert as part of a unit.
func (s *Suggestions) put(ctx context.Context, tx database.Tx, sessionID, requestKey string, next Suggestion) (
	Suggestion, []journal.Event, error) {
	old, found, err := s.find(ctx, tx, sessionID, requestKey)
	if err != nil {
		return Suggestion{}, nil, err
	}
	if found && old.Status != SuggestionStreaming && next.Status == SuggestionStreaming {
		return old, nil, nil
	}
	if next.Status == SuggestionError && next.Error == "" {
		next.Error = suggestionFailed
	}
	next.UpdatedAt = s.clock().UnixMilli()
	_, err = tx.ExecContext(ctx,
		`insert into suggested_requests (session_id, request_key, status, suggestion, error, updated_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (session_id, request_key) do update set status = excluded.status, suggestion = excluded.suggestion,
			error = excluded.error, updated_at = excluded.updated_at`,
		database.EncodeText(sessionID), database.EncodeText(requestKey), string(next.Status),
		database.EncodeText(next.Suggestion), database.EncodeText(next.Error), next.UpdatedAt)
	if err != nil {
		return Suggestion{}, nil, fmt.Errorf("store the suggestion of session %s: %w", sessionID, err)
	}
	if !found {
		if err := pruneSuggestions(ctx, tx); err != nil {
			return Suggestion{}, nil, err
		}
	}
	return next, []journal.Event{suggestionEvent(sessionID, requestKey, next)}, nil
}

func pruneSuggestions(ctx context.Context, tx database.Tx) error {
	var all int
	if err := tx.QueryRowContext(ctx, `select count(*) from suggested_requests`).Scan(&all); err != nil {
		return fmt.Errorf("count suggestions: %w", err)
	}
	if all <= keptSuggestions {
		return nil
	}
	_, err := tx.ExecContext(ctx,
		`delete from suggested_requests where (session_id, request_key) in (select session_id, request_key
		from suggested_requests order by updated_at, session_id, request_key limit $1)`, all-keptSuggestions)
	if err != nil {
		return fmt.Errorf("prune suggestions: %w", err)
	}
	return nil
}

func suggestionEvent(sessionID, requestKey string, s Suggestion) journal.Event {
	return journal.Event{SessionID: sessionID, Type: "suggested_request_updated", Time: s.UpdatedAt, Source: "queue",
		Payload: encode(struct {
			SessionID  string           `json:"sessionId"`
			RequestKey string           `json:"requestKey"`
			Status     SuggestionStatus `json:"status"`
			Suggestion string           `json:"suggestion,omitempty"`
			Error      string           `json:"error,omitempty"`
		}{sessionID, requestKey, s.Status, s.Suggestion, s.Error})}
}

// Find reads a suggestion; false if the key has none.
func (s *Suggestions) Find(ctx context.Context, sessionID, requestKey string) (Suggestion, bool, error) {
	return s.find(ctx, s.db.Read(), sessionID, requestKey)
}

func (s *Suggestions) find(ctx context.Context, q database.Querier, sessionID, requestKey string) (Suggestion,
	bool, error) {
	var found Suggestion
	err := q.QueryRowContext(ctx,
		`select status, suggestion, error, updated_at from suggested_requests where session_id = $1 and request_key = $2`,
		database.EncodeText(sessionID), database.EncodeText(requestKey)).Scan(&found.Status, &found.Suggestion, &found.Error,
		&found.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Suggestion{}, false, nil
	}
	if err != nil {
		return Suggestion{}, false, fmt.Errorf("read the suggestion of session %s: %w", sessionID, err)
	}
	found.Suggestion, found.Error = database.DecodeText(found.Suggestion), database.DecodeText(found.Error)
	return found, true, nil
}

// waitOrFallBack closes early when the suggestion of an instruction is stored. After wait it stores the fallback
// itself.
func (s *Suggestions) waitOrFallBack(ctx context.Context, in Instruction, wait time.Duration, early chan<- struct{}) {
	watcher := newTurnWatcher(in.SourceSessionID)
	_, unsubscribe := s.journal.Subscribe(watcher.onRecords)
	defer unsubscribe()
	deadline := time.After(wait)
	for {
		found, known, err := s.Find(ctx, in.SourceSessionID, in.Completion.RequestKey)
		if err == nil && known && found.Status != SuggestionStreaming {
			close(early)
			return
		}
		select {
		case <-watcher.news:
		case <-deadline:
			_, err := s.Upsert(ctx, in.SourceSessionID, in.Completion.RequestKey,
				Suggestion{Status: SuggestionComplete, Suggestion: FallbackSuggestion(in.FallbackDraft)})
			if err == nil || errors.Is(err, session.ErrNotFound) {
				close(early)
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// FallbackSuggestion returns the suggestion to use without a worker's answer: the user's own draft, or a general next
// step.
func FallbackSuggestion(draft string) string {
	if draft != "" {
		return draft
	}
	return "Please continue with the next concrete step and include exact commands or code changes."
}
