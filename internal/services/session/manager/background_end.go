package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// endRounds is how often all background work is listed and ended: what is being ended may begin more.
const endRounds = 3

// EndBackground ends one background task of a session; a turn does not begin by that. runtime.ErrNoBackground when it is
// over; *runtime.UnsupportedError where the runtime cannot end it alone.
func (s *Service) EndBackground(ctx context.Context, sessionID, id string) error {
	sess, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return err
	}
	ender, err := runtime.As[runtime.Backgrounder](adapter, runtime.OpTerminals)
	if err != nil {
		return err
	}
	tasks, err := s.Background(ctx, sessionID)
	if err != nil {
		return err
	}
	found := slices.IndexFunc(tasks, func(task session.BackgroundTask) bool { return task.ID == id })
	if found < 0 {
		return fmt.Errorf("%w: %s of session %s is over", runtime.ErrNoBackground, id, sessionID)
	}
	if _, cleans := runtime.Has[runtime.TerminalCleaner](adapter, runtime.OpTerminals); !tasks[found].CanEnd && !cleans {
		return &runtime.UnsupportedError{Runtime: sess.Runtime, Operation: "end this command",
			Remedy: fmt.Sprintf("`%s` began while another session had a turn in the same folder, so it may be that session's: "+
				"have the agent end it, or end it on the machine", tasks[found].Command)}
	}
	err = ender.EndBackground(ctx, runtime.ResumeThread{ThreadID: sess.ID, NativeID: sess.RuntimeSessionID}, id)
	if errors.Is(err, runtime.ErrThreadNotFound) {
		err = runtime.ErrNoBackground
	}
	_, listed := s.Background(ctx, sessionID)
	if err != nil {
		return fmt.Errorf("end background task %s: %w", id, err)
	}
	return listed
}

// EndAllBackground ends all background work of a session and returns what there was. A session of a runtime without
// such work has none. When it returns without an error none is left.
func (s *Service) EndAllBackground(ctx context.Context, sessionID string) (ended []session.BackgroundTask, err error) {
	tasks, err := s.Background(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(tasks, func(task session.BackgroundTask) bool { return !task.CanEnd }) {
		session, adapter, err := s.owned(ctx, sessionID)
		if err != nil {
			return nil, err
		}
		if cleaner, cleans := runtime.Has[runtime.TerminalCleaner](adapter, runtime.OpTerminals); cleans {
			if _, err := cleaner.CleanTerminals(ctx, session.ID); err != nil && !noBackground(err) {
				return nil, err
			}
			return tasks, s.awaitNoBackground(ctx, sessionID)
		}
	}
	return s.endBackground(ctx, sessionID, func(session.BackgroundTask) bool { return true })
}

// endBackground ends the background work of a session that is chosen.
func (s *Service) endBackground(ctx context.Context, sessionID string,
	chosen func(session.BackgroundTask) bool) (ended []session.BackgroundTask,
	err error) {
	for round := 0; ; round++ {
		tasks, err := s.Background(ctx, sessionID)
		if err != nil {
			return ended, err
		}
		left := 0
		var failed error
		for _, task := range tasks {
			if !chosen(task) {
				continue
			}
			left++
			switch err := s.EndBackground(ctx, sessionID, task.ID); {
			case err == nil:
				ended = append(ended, task)
			case !noBackground(err):
				failed = errors.Join(failed, err)
			}
		}
		if left == 0 || failed != nil {
			return ended, failed
		}
		if round == endRounds {
			return ended, fmt.Errorf("%w: background work of session %s goes on although it was ended", runtime.ErrTimeout, sessionID)
		}
	}
}

// awaitNoBackground waits until a session has no background work; it was told to end.
func (s *Service) awaitNoBackground(ctx context.Context, sessionID string) error {
	for began := time.Now(); ; {
		tasks, err := s.Background(ctx, sessionID)
		if err != nil || len(tasks) == 0 {
			return err
		}
		if time.Since(began) > backgroundPatience {
			return fmt.Errorf("%w: background work of session %s goes on although it was ended", runtime.ErrTimeout, sessionID)
		}
		select {
		case <-time.After(lateTurn / 20):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
