package manager

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// questions holds this server's own pending questions to users, by request id.
type questions struct {
	generation string // of this process: an earlier process's questions have no caller left
	mu         sync.Mutex
	waiting    map[string]chan struct{}
}

func newQuestions() *questions {
	return &questions{generation: session.EventSource + ":" + ids.New(), waiting: map[string]chan struct{}{}}
}

// wait returns a channel that is closed when the request is no longer pending.
func (a *questions) wait(requestID string) (over <-chan struct{}, forget func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	woken := make(chan struct{})
	a.waiting[requestID] = woken
	return woken, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.waiting, requestID)
	}
}

// wake notifies the waiters of a request that some node settled it.
func (a *questions) wake(record journal.Record) {
	var settled struct {
		ID string `json:"approvalId"`
	}
	if json.Unmarshal(record.Payload, &settled) != nil {
		return // an event of this package that cannot be decoded
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if woken, waits := a.waiting[settled.ID]; waits {
		close(woken)
		delete(a.waiting, settled.ID)
	}
}

// AskAboutTool asks a user, as an ordinary approval, whether a tool of this server may run. It waits for the decision.
// When ctx ends, the question expires and the error is that of ctx. It returns ErrExpired if the question ended
// otherwise.
func (s *Service) AskAboutTool(ctx context.Context, q session.ToolQuestion) (session.ToolAnswer, error) {
	stored, err := s.Stored(ctx, q.SessionID)
	if err != nil {
		return session.ToolAnswer{}, err
	}
	native, place := quote(q.CallID), wire.Asking{Place: wire.Place{ThreadID: q.SessionID, TurnID: q.TurnID},
		ItemID: q.CallID}
	signal := wire.ApproveOwnTool(native, place, q.Tool, q.Arguments, &q.Reason)
	signal.Generation = s.questions.generation
	var (
		over   <-chan struct{}
		forget func()
		id     string
	)
	err = s.InOrder(ctx, func() journal.Unit {
		a := s.prepareSignal(stored.Runtime, signal)
		a.runtime, id = session.EventSource, a.requestID
		over, forget = s.questions.wait(id)
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if _, err := store.IsSystemOwned(ctx, tx, q.SessionID); err != nil {
				return nil, journal.Refuse(err)
			}
			return s.apply(ctx, tx, a)
		}
	})
	if forget != nil {
		defer forget()
	}
	if err != nil && ctx.Err() != nil && id != "" {
		err = errors.Join(err, s.expireOwn(context.WithoutCancel(ctx), id)) // the request may be stored despite the error
	}
	if err != nil {
		return session.ToolAnswer{}, err
	}
	select {
	case <-over:
	case <-ctx.Done():
		return session.ToolAnswer{}, errors.Join(ctx.Err(), s.expireOwn(context.WithoutCancel(ctx), id))
	}
	settled, err := store.ReadRequest(ctx, s.db.Read(), id, runtime.RequestApproval)
	if err != nil {
		return session.ToolAnswer{}, err
	}
	if settled.Status != session.RequestResolved || settled.Reply == nil {
		return session.ToolAnswer{}, session.ErrExpired
	}
	return session.ToolAnswer{Allow: settled.Reply.Decision == "accept", Actor: settled.DecidedBy, Reason: settled.Reply.Message},
		nil
}

// expireOwn ends a question of this server whose caller stopped waiting, unless a user has decided it.
func (s *Service) expireOwn(ctx context.Context, requestID string) error {
	at := s.now()
	return s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		request, err := store.ReadRequest(ctx, tx, requestID, runtime.RequestApproval)
		if errors.Is(err, session.ErrRequestNotFound) || err == nil && request.Status != session.RequestPending {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		event, err := expireRequest(ctx, tx, request, session.EventSource, max(at, request.CreatedAt))
		return []journal.Event{event}, err
	})
}
