package tasks

import (
	"context"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// changedSources returns the outcome of a task if its agent would read other files than when its session began; nil if
// that is allowed or nothing changed. It applies only to sessions of the task API.
func (s *Service) changedSources(ctx context.Context, t Task, runtimeName string) (*Outcome, error) {
	if t.AllowChangedSources {
		return nil, nil
	}
	noted, err := readNote(ctx, s.db.Read(), t.SessionID)
	if err != nil || noted == nil || !noted.Pinned {
		return nil, err
	}
	found, err := s.opts.Sessions.Sources(ctx, t.SessionID)
	if database.Transient(err) {
		return nil, err
	}
	if err != nil { // unknown whether they are the same
		outcome := failed(runtimeName, CodeRuntime, true, err)
		return &outcome, nil
	}
	var changed []string
	for _, file := range found.Files {
		if file.State == session.SourceChanged || file.State == session.SourceAdded || file.State == session.SourceRemoved {
			changed = append(changed, file.Path+" was "+file.State)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	return &Outcome{Status: Failed, Failure: &Failure{Code: CodeSources, Runtime: runtimeName,
		Message: fmt.Sprintf("what %s reads by itself is not what it was when the session began: %s", runtimeName,
			strings.Join(changed, ", ")),
		Recovery: "open another session, or allow it with allow_changed_sources of the task or the session"}}, nil
}
