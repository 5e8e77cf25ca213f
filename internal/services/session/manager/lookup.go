package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// lookupPatience is how long a ready runtime may take to find a conversation.
const lookupPatience = 2 * time.Second

// findAnswer is a runtime's answer about a conversation.
type findAnswer struct {
	adapter runtime.Adapter
	thread  runtime.Thread
	err     error
}

// Lookup finds a session in the stored rows, or adopts one that only a runtime knows. It asks only runtimes that are
// ready, and only about ids that are not stored here. It returns *DeletedError for a deleted session and ErrNotFound
// for an unknown one. If some runtimes could not be asked, the latter is an *UnknownError.
func (s *Conversations) Lookup(ctx context.Context, sessionID string) (session.Session, error) {
	sess, err := s.reader.Stored(ctx, sessionID)
	if !errors.Is(err, session.ErrNotFound) {
		return sess, err
	}
	if sessionID == "" || database.EncodeText(sessionID) != sessionID {
		return session.Session{}, session.ErrNotFound // no runtime uses such an id
	}
	asked := s.now()
	answers, notAsked := s.findInRuntimes(ctx, sessionID)
	for _, one := range answers {
		switch reason, is := unanswered(ctx, one.err); {
		case is:
			notAsked = append(notAsked, session.NotAsked{Runtime: one.adapter.Name(), State: one.adapter.Status().State, Reason: reason})
		case one.err == nil && one.thread.ID == sessionID:
			if err := s.storeThreads(ctx, one.adapter.Name(), []runtime.Thread{one.thread}, asked); err != nil {
				return session.Session{}, err
			}
			s.imports.want(sessionID)
			return s.reader.Stored(ctx, sessionID)
		case one.err == nil, errors.Is(one.err, runtime.ErrThreadNotFound):
		case errors.As(one.err, new(*runtime.Error)): // the runtime refuses the id: it is not one of its own
		default:
			return session.Session{}, one.err
		}
	}
	if len(notAsked) > 0 {
		return session.Session{}, &session.UnknownError{SessionID: sessionID, NotAsked: notAsked}
	}
	return session.Session{}, session.ErrNotFound
}

// findInRuntimes asks all ready runtimes that store conversations for one, concurrently.
func (s *Conversations) findInRuntimes(ctx context.Context, sessionID string) (answers []findAnswer, notAsked []session.NotAsked) {
	ctx, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	adapters := s.runtimes.Adapters()
	answers = make([]findAnswer, 0, len(adapters))
	var asking sync.WaitGroup
	for _, adapter := range adapters {
		historian, ok := runtime.Has[runtime.History](adapter, runtime.OpHistory)
		if !ok {
			continue
		}
		if status := adapter.Status(); status.State != runtime.StateReady || status.Suspended {
			notAsked = append(notAsked, notAskedReason(adapter.Name(), status))
			continue
		}
		answers = append(answers, findAnswer{adapter: adapter})
		answer := &answers[len(answers)-1]
		asking.Go(func() { answer.thread, answer.err = historian.ReadThread(ctx, sessionID, false) })
	}
	asking.Wait()
	return answers, notAsked
}

// notAskedReason returns why an unavailable runtime is not asked.
func notAskedReason(name string, status runtime.Status) session.NotAsked {
	if status.State == runtime.StateReady {
		return session.NotAsked{Runtime: name, State: runtime.StateUnresponsive,
			Reason: fmt.Sprintf("its process is suspended; continue it with: kill -CONT %d", status.PID)}
	}
	return session.NotAsked{Runtime: name, State: status.State, Reason: cmp.Or(status.Reason, "it is "+string(status.State))}
}

// unanswered reports whether a runtime did not answer, and why. A canceled caller does not count.
func unanswered(ctx context.Context, err error) (reason string, is bool) {
	if err == nil || ctx.Err() != nil {
		return "", false
	}
	if errors.Is(err, runtime.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return "it did not answer within " + lookupPatience.String(), true
	}
	reason = strings.TrimPrefix(err.Error(), runtime.ErrUnavailable.Error()+": ")
	return reason, errors.Is(err, runtime.ErrUnavailable)
}
