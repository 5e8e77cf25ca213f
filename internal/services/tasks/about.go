package tasks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// Origin identifies the client, the request and the user behind a request, in the caller's terms. The events that it
// causes carry it.
type Origin struct {
	ClientID  string `json:"client_id,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	UserID    string `json:"user_id,omitempty"`
}

// decider is the actor of a decision, for the audit log and in the caller's terms.
type decider struct {
	Actor  string `json:"actor,omitempty"`
	Origin Origin `json:"origin"`
}

// noteOrigin stores the actor of a decision about a call, for the events of the decision.
func (s *Service) noteOrigin(ctx context.Context, sessionID string, what ownRecord, actor string) error {
	if what.Origin == (Origin{}) {
		return nil
	}
	_, err := s.journal.Commit(ctx, func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{{SessionID: database.EncodeText(sessionID), Type: recordAsked, Time: s.now(), Source: "tasks", Actor: actor,
			Payload: encode(what)}}, nil
	})
	return err
}

// onAsked records the decider of a call, or the client that stops the task.
func (l *Log) onAsked(own ownRecord, actor string) {
	if c := l.find(own.CallID); c != nil {
		c.By = &decider{actor, own.Origin}
	}
	if t := l.state.Task; t != nil && own.TaskID != "" && t.ID == own.TaskID {
		t.Stopper = &own.Origin
	}
}

// because adds the actor to the events of a decision. Call the returned function once they are derived.
func (l *Log) because(c *call, actor string) (done func()) {
	if c != nil && c.By != nil && c.By.Actor == actor {
		l.by = &c.By.Origin
	}
	return func() { l.by = nil }
}

// About is the content of a session's first event, the start of the log. CreatedAt is in ms.
type About struct {
	SessionID string `json:"session_id"`
	Runtime   string `json:"runtime"`
	CreatedAt int64  `json:"created_at"`
	Origin    Origin `json:"origin"`
	Begin     Facts  `json:"begin"`
}

// Facts are the facts about a session's runtime in events, and the folder names to remove from tool inputs.
type Facts struct {
	Model            string `json:"model,omitempty"`
	RuntimeSessionID string `json:"runtime_session_id,omitempty"`
	// Folders are the names of the session's folder, with and without resolved links, the longest first.
	Folders []string `json:"folders,omitempty"`
}

// replace copies the non-empty members of other facts.
func (f *Facts) replace(by *Facts) {
	if by == nil {
		return
	}
	if by.Model != "" {
		f.Model = by.Model
	}
	if by.RuntimeSessionID != "" {
		f.RuntimeSessionID = by.RuntimeSessionID
	}
	if len(by.Folders) > 0 {
		f.Folders = by.Folders
	}
}

// factsOf returns the current facts of a session. effective is the model that its runtime uses, "" if unknown.
func factsOf(s session.Session, effective string) Facts {
	f := Facts{Model: effective, RuntimeSessionID: s.RuntimeSessionID, Folders: foldersOf(s.Cwd)}
	if s.Controls.Model != nil && *s.Controls.Model != "" {
		f.Model = *s.Controls.Model
	}
	return f
}

// factsNow returns the current facts of a session, without the model that its runtime chose.
func (s *Service) factsNow(ctx context.Context, sessionID string) (*Facts, error) {
	stored, err := s.opts.Sessions.Lookup(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	facts := factsOf(stored, "")
	return &facts, nil
}

// foldersOf returns the names of a folder.
func foldersOf(cwd string) []string {
	if !filepath.IsAbs(cwd) || filepath.Clean(cwd) == "/" {
		return nil
	}
	folders := []string{filepath.Clean(cwd)}
	if resolved, err := filepath.EvalSymlinks(cwd); err == nil && resolved != folders[0] && resolved != "/" {
		folders = append(folders, resolved)
	}
	slices.SortFunc(folders, func(a, b string) int { return len(b) - len(a) })
	return folders
}

// About reads the beginning of a session's log. Errors are those of operations.Find; *operations.SystemSessionError.
func (s *Service) About(ctx context.Context, sessionID string) (About, error) {
	found, err := s.opts.Operations.Find(ctx, sessionID)
	if err != nil {
		return About{}, err
	}
	if found.SystemOwned {
		return About{}, &operations.SystemSessionError{SessionID: sessionID}
	}
	about := About{SessionID: found.ID, Runtime: found.Runtime, CreatedAt: found.CreatedAt, Begin: factsOf(found, "")}
	noted, err := readNote(ctx, s.db.Read(), sessionID)
	if err != nil || noted == nil {
		return about, err
	}
	about.Origin, about.Begin = noted.Origin, noted.Facts
	return about, nil
}

// note is stored for a session when the task API first uses it.
type note struct {
	Origin Origin `json:"origin"`
	Facts  Facts  `json:"facts"`
	// Pinned means that its tasks fail once a file that its agent reads on its own has changed.
	Pinned bool `json:"pinned,omitempty"`
}

// readNote returns nil for a session without a note.
func readNote(ctx context.Context, q database.Querier, sessionID string) (*note, error) {
	var text string
	err := q.QueryRowContext(ctx, `select about from task_sessions where session_id = $1`, database.EncodeText(sessionID)).
		Scan(&text)
	if errors.Is(err, sql.ErrNoRows) || err == nil && text == "" {
		return nil, nil
	}
	var noted note
	if err == nil {
		err = json.Unmarshal([]byte(database.DecodeText(text)), &noted)
	}
	if err != nil {
		return nil, fmt.Errorf("read what is noted of session %s: %w", sessionID, err)
	}
	return &noted, nil
}
