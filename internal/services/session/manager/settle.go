package manager

import (
	"context"
	"errors"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/store"
)

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
	at := s.now()
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
		systemOwned, err := store.IsSystemOwned(ctx, tx, request.SessionID)
		if err == nil {
			_, _, err = s.entries.Upsert(ctx, tx, request.SessionID, entryof.Resolution(request.Request))
		}
		if err != nil && !session.Absent(err) {
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
