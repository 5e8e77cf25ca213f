package manager

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// Pending lists the pending interactive requests of a session, oldest first. An unknown session has none.
func (s *Service) Pending(ctx context.Context, sessionID string) ([]session.Request, error) {
	return s.pending(ctx, sessionID, func(session.Request) bool { return true })
}

// AllPending is Pending of every session that is no worker's.
func (s *Service) AllPending(ctx context.Context) (requests []session.Request, err error) {
	err = s.db.Snapshot(ctx, func(q database.Querier) error {
		requests = []session.Request{}
		rows, err := store.QueryRequests(ctx, q, `where status = 'pending' and not exists (select 1 from sessions
			where sessions.id = r.session_id and system_owned = 1) order by created_at, id`)
		for _, row := range rows {
			if err == nil {
				row, err = row.WithParams(ctx, q)
				requests = append(requests, row.Request)
			}
		}
		return err
	})
	return requests, err
}

// PendingApprovals counts the approvals that wait, of workers too and on all servers of the store, and tells since when
// (ms) the oldest does, 0 when none does.
func (s *Service) PendingApprovals(ctx context.Context) (n, oldest int64, err error) {
	err = s.db.Read().QueryRowContext(ctx, `select count(*), coalesce(min(created_at), 0) from interactive_requests
		where status = 'pending' and kind = 'approval'`).Scan(&n, &oldest)
	if err != nil {
		return 0, 0, fmt.Errorf("count the approvals that wait: %w", err)
	}
	return n, oldest, nil
}

// Requests is Pending of one kind.
func (s *Service) Requests(ctx context.Context, sessionID string, kind runtime.RequestKind) ([]session.Request, error) {
	return s.pending(ctx, sessionID, func(r session.Request) bool { return r.Kind == kind })
}

func (s *Service) pending(ctx context.Context, sessionID string, wanted func(session.Request) bool) ([]session.Request, error) {
	var requests []session.Request
	err := s.db.Snapshot(ctx, func(q database.Querier) error {
		requests = []session.Request{}
		rows, err := store.PendingRequests(ctx, q, sessionID)
		for _, row := range rows {
			if err == nil && wanted(row.Request) {
				row, err = row.WithParams(ctx, q)
				requests = append(requests, row.Request)
			}
		}
		return err
	})
	return requests, err
}

// SessionOfRequest is the session an interactive request belongs to, whatever became of it. ErrRequestNotFound for an
// unknown id.
func (s *Service) SessionOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (sessionID string,
	err error) {
	request, err := store.ReadRequest(ctx, s.db.Read(), requestID, kind)
	return request.SessionID, err
}

// Settle decides a pending request exactly once, on any node. The decision is a compare-and-set on its row, committed
// and announced before the runtime hears of it. The runtime has it when Settle returns if it is one of this node; else
// its own node delivers it as soon as it hears of it, and a node that is down at its next start. *runtime.ReplyError
// for a reply the runtime would not take, ErrRequestNotFound for an unknown id, *SettledError for everybody who came
// later.
func (s *Service) Settle(ctx context.Context, requestID string, kind runtime.RequestKind, reply runtime.Reply,
	decidedBy string) (session.Request, error) {
	if kind == runtime.RequestApproval {
		reply.Scope = scope(&reply)
	}
	// A caller who goes away after the commit must not keep the runtime from its answer.
	ctx = context.WithoutCancel(ctx)
	var settled store.Request
	at := s.now()
	ours := false
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
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
		if err := s.checkReply(request, reply); err != nil {
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
			_, _, err = s.entries.Upsert(ctx, tx, request.SessionID, entryOfResolution(request.Request))
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
			// Ours to deliver from here on: the journal tells of the decision before this call goes on.
			ours = s.delivery.take(requestID) || ours
		}
		return []journal.Event{requestResolved(request.Request, systemOwned, decidedBy)}, nil
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

// checkReply refuses what the runtime that asked would not take; one this server does not have is not known to refuse
// anything.
func (s *Service) checkReply(request store.Request, reply runtime.Reply) error {
	if request.Runtime == session.EventSource {
		return checkOwnReply(reply)
	}
	if adapter, err := s.Adapter(request.Runtime); err == nil {
		return adapter.CheckReply(request.Ref(), reply)
	}
	return nil
}
