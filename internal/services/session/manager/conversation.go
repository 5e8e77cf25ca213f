package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/rollback"
	"harness/internal/services/session/workspace"
)

// conversations finds and changes the conversations of runtimes.
type conversations struct {
	db           *database.DB
	journal      *journal.Journal
	reader       *reading.Reader
	runtimes     *registry.Registry
	folders      *workspace.Checker
	monitor      *background.Monitor
	watch        *background.Watch
	imports      *imports
	root         string // of relative folders
	owns         func(one session.Session) bool
	owned        func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	adoptOne     func(ctx context.Context, runtimeName, sessionID string) error
	storeThreads func(ctx context.Context, runtimeName string, threads []runtime.Thread, asked int64) error
	now          func() int64 // ms
}

// Fork creates a session that continues another session's history and has its client tools.
func (s *conversations) Fork(ctx context.Context, sessionID string) (session.Forked, error) {
	thread, err := act(ctx, s, sessionID, runtime.OpFork, runtime.Forker.ForkThread)
	if err != nil {
		return session.Forked{}, err
	}
	stored, err := s.forked(ctx, sessionID, thread)
	if err != nil {
		return session.Forked{}, fmt.Errorf("take in fork %s: %w", thread.Native(), err)
	}
	return session.Forked{Session: stored, Thread: thread.Raw}, nil
}

// Compact makes the runtime compact a session's context, and returns the runtime's answer.
func (s *conversations) Compact(ctx context.Context, sessionID string) (json.RawMessage, error) {
	return act(ctx, s, sessionID, runtime.OpCompact, runtime.Compactor.CompactThread)
}

// CleanTerminals ends the programs that a session's turns left running. It returns the runtime's answer, or the ended
// programs if the runtime gives no answer.
func (s *conversations) CleanTerminals(ctx context.Context, sessionID string) (json.RawMessage, error) {
	_, adapter, err := s.owned(ctx, sessionID)
	if err == nil {
		_, cleans := runtime.Has[runtime.TerminalCleaner](adapter, runtime.OpTerminals)
		_, ends := runtime.Has[runtime.Backgrounder](adapter, runtime.OpTerminals)
		if ends && !cleans {
			ended, err := s.monitor.EndAllBackground(ctx, sessionID)
			return encode(struct {
				Ended []session.BackgroundTask `json:"ended"`
			}{append([]session.BackgroundTask{}, ended...)}), err
		}
	}
	result, err := act(ctx, s, sessionID, runtime.OpTerminals, runtime.TerminalCleaner.CleanTerminals)
	if err == nil {
		s.watch.Want(sessionID)
	}
	return result, err
}

// Review starts a review in a session and returns the runtime's answer.
func (s *conversations) Review(ctx context.Context, sessionID string, review runtime.Review) (json.RawMessage, error) {
	return act(ctx, s, sessionID, runtime.OpReview,
		func(r runtime.Reviewer, ctx context.Context, threadID string) (json.RawMessage, error) {
			return r.ReviewThread(ctx, threadID, review)
		})
}

// SteerTurn adds text to a turn, like Steer, but the runtime checks whether that turn runs. It returns the runtime's
// refusal unchanged.
func (s *conversations) SteerTurn(ctx context.Context, sessionID, turnID, text string) error {
	input := session.Message{Text: text}.InputParts()
	_, err := act(ctx, s, sessionID, runtime.OpSteer,
		func(r runtime.Steerer, ctx context.Context, threadID string) (struct{}, error) {
			return struct{}{}, r.SteerTurn(ctx, threadID, turnID, input)
		})
	return err
}

// act calls the runtime of a session about its conversation. A restarted runtime must load the conversation first.
func act[Part, Result any](
	ctx context.Context, s *conversations, sessionID, operation string, do func(Part, context.Context, string) (Result, error),
) (result Result, err error) {
	sess, adapter, err := s.owned(ctx, sessionID)
	if errors.Is(err, session.ErrNotFound) {
		unknown := err
		sess.ID = sessionID
		adapter, err = s.runtimes.Chosen("")
		if e := (*session.UnknownError)(nil); err == nil && errors.As(unknown, &e) && e.WaitsFor(adapter.Name()) {
			err = unknown
		}
	}
	if err != nil {
		return result, err
	}
	part, err := runtime.As[Part](adapter, operation)
	if err != nil {
		return result, err
	}
	if operation != runtime.OpTerminals { // any process can end running programs
		if _, err := s.folders.Workspace(sess); err != nil {
			return result, err
		}
	}
	err = rollback.Loaded(ctx, adapter, sess, func() (err error) {
		result, err = do(part, ctx, sessionID)
		return err
	})
	return result, err
}
