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
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/store"
	"harness/transcript"
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
	stored, err := s.Reader.Stored(ctx, q.SessionID)
	if err != nil {
		return session.ToolAnswer{}, err
	}
	native, place := quote(q.CallID), wire.Asking{Place: wire.Place{ThreadID: q.SessionID, TurnID: q.TurnID},
		ItemID: q.CallID, At: s.now()}
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

// Settle decides a pending request exactly once, on any node. The decision is a compare-and-set on its row, committed
// and published before the runtime receives it. If the runtime is on this node, it has the decision when Settle
// returns. Otherwise its own node delivers the decision when it receives the event, or at its next start.
//
// It returns *runtime.ReplyError for a reply that the runtime would not accept, and ErrRequestNotFound for an unknown
// id. All later callers get *SettledError.
func (s *Service) Settle(ctx context.Context, requestID string, kind runtime.RequestKind, reply runtime.Reply,
	decidedBy string) (session.Request, error) {
	if kind == runtime.RequestApproval {
		reply.Scope = entryof.Scope(&reply)
	}
	// If the caller is canceled after the commit, the runtime must still get the answer.
	ctx = context.WithoutCancel(ctx)
	var settled store.Request
	at, author := s.now(), session.Author{Actor: decidedBy, Name: s.journal.ActorName(ctx)}
	ours := false
	err := s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		request, err := store.ReadRequest(ctx, tx, requestID, kind)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		if request.Status != session.RequestPending {
			return nil, journal.Refuse(&session.SettledError{Request: request.Request})
		}
		if request, err = request.WithParams(ctx, tx); err != nil {
			return nil, err
		}
		if err := s.decider.CheckReply(request, reply); err != nil {
			return nil, journal.Refuse(err)
		}
		request.Status, request.Reply, request.DecidedBy, request.SettledAt = session.RequestResolved, &reply, decidedBy, max(at,
			request.CreatedAt)
		if won, err := store.SettleRequest(ctx, tx, request); err != nil {
			return nil, err
		} else if !won {
			return nil, errors.New("a pending request changed inside the journal's transaction")
		}
		systemOwned, err := storeResolution(ctx, tx, request.Request, author)
		if err != nil {
			return nil, err
		}
		settled = request
		if request.Runtime == session.EventSource {
			if err := delivered(ctx, tx, requestID, request.SettledAt); err != nil {
				return nil, err
			}
		} else if request.NodeID == s.opts.NodeID {
			// From here on, this call delivers it: the journal publishes the decision before this call continues.
			ours = s.delivery.take(requestID) || ours
		}
		return []journal.Event{entryof.Resolved(request.Request, systemOwned, decidedBy)}, nil
	})
	if err != nil {
		if ours {
			s.delivery.release(requestID)
		}
		return session.Request{}, err
	}
	if ours {
		s.deliver(ctx, settled)
	}
	return settled.Request, nil
}

// storeResolution stores the entry of a decision, and who decided. It returns whether the session is system-owned.
func storeResolution(ctx context.Context, tx database.Tx, request session.Request, by session.Author) (bool, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, request.SessionID)
	if session.Absent(err) {
		return systemOwned, nil
	}
	if err == nil {
		err = store.NoteActor(ctx, tx, by)
	}
	if err == nil {
		_, _, err = transcript.Store{}.Upsert(ctx, tx, request.SessionID, entryof.Resolution(request))
	}
	return systemOwned, err
}
