package reading

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// Pending lists the pending interactive requests of a session, oldest first; none for an unknown session.
func (r *Reader) Pending(ctx context.Context, sessionID string) ([]session.Request, error) {
	return r.pending(ctx, sessionID, func(session.Request) bool { return true })
}

// AllPending is Pending for all sessions except workers' sessions.
func (r *Reader) AllPending(ctx context.Context) (requests []session.Request, err error) {
	err = r.db.Snapshot(ctx, func(q database.Querier) error {
		requests = []session.Request{}
		rows, err := store.QueryRequests(ctx, q, `where status = 'pending' and not exists (select 1 from sessions
			where sessions.id = r.session_id and system_owned = 1) order by created_at, id`)
		for _, row := range rows {
			if err == nil {
				row, err = row.WithParams(ctx, q)
				requests = append(requests, row.Request)
			}
		}
		for i := range requests {
			if err == nil {
				err = r.fillChanges(ctx, q, &requests[i])
			}
		}
		return err
	})
	return requests, err
}

// fillChanges sets the changes of an approval: those it names, else those of its item.
func (r *Reader) fillChanges(ctx context.Context, q database.Querier, request *session.Request) error {
	if request.Kind != runtime.RequestApproval {
		return nil
	}
	request.Changes = wire.FileChanges(request.Params)
	if request.Changes != nil || request.ItemID == "" {
		return nil
	}
	entry, there, err := r.entries.Find(ctx, q, request.SessionID, request.ItemID)
	if err != nil || !there || entry.Type != wire.ItemFileChange {
		return err
	}
	if entry = entry.Whole(); entry.Details != nil {
		request.Changes = wire.FileChanges([]byte(*entry.Details))
	}
	return nil
}

// PendingApprovals counts the pending approvals on all servers of the store, including workers' approvals. It returns
// the time (ms) of the oldest, 0 for none.
func (r *Reader) PendingApprovals(ctx context.Context) (n, oldest int64, err error) {
	err = r.db.Read().QueryRowContext(ctx, `select count(*), coalesce(min(created_at), 0) from interactive_requests
		where status = 'pending' and kind = 'approval'`).Scan(&n, &oldest)
	if err != nil {
		return 0, 0, fmt.Errorf("count the approvals that wait: %w", err)
	}
	return n, oldest, nil
}

// Requests is Pending for one kind of request.
func (r *Reader) Requests(ctx context.Context, sessionID string, kind runtime.RequestKind) ([]session.Request, error) {
	return r.pending(ctx, sessionID, func(r session.Request) bool { return r.Kind == kind })
}

func (r *Reader) pending(ctx context.Context, sessionID string, wanted func(session.Request) bool) ([]session.Request, error) {
	var requests []session.Request
	err := r.db.Snapshot(ctx, func(q database.Querier) error {
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

// SessionOfRequest returns the session of an interactive request in any state. It returns ErrRequestNotFound for an
// unknown id.
func (r *Reader) SessionOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (sessionID string,
	err error) {
	request, err := store.ReadRequest(ctx, r.db.Read(), requestID, kind)
	return request.SessionID, err
}

// Request reads an interactive request in any state. It returns ErrRequestNotFound for an unknown id.
func (r *Reader) Request(ctx context.Context, requestID string, kind runtime.RequestKind) (session.Request, error) {
	row, err := store.ReadRequest(ctx, r.db.Read(), requestID, kind)
	if err == nil {
		row, err = row.WithParams(ctx, r.db.Read())
	}
	return row.Request, err
}

// DenialReasons returns users' reasons for denying requests of a session's last turn, as a text for its agent; "" for
// none. It serves runtimes whose denials take no reason (Capabilities.DenyReason): the next message contains the
// reasons. That message starts a new last turn, so each reason is sent once.
func (r *Reader) DenialReasons(ctx context.Context, adapter runtime.Adapter, sessionID string) (string, error) {
	if runtime.CapabilitiesOf(adapter).DenyReason {
		return "", nil
	}
	var turnID string
	err := r.db.Read().QueryRowContext(ctx, `select turn_id from turns where session_id = $1
		order by started_at desc, turn_id desc limit 1`, database.EncodeText(sessionID)).Scan(&turnID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the last turn of session %s: %w", sessionID, err)
	}
	settled, err := store.QueryRequests(ctx, r.db.Read(), `where session_id = $1 and turn_id = $2 and status = 'resolved'
		order by settled_at, id`, database.EncodeText(sessionID), turnID)
	if err != nil {
		return "", err
	}
	var reasons strings.Builder
	for _, r := range settled {
		if r.ReasonGiven() {
			fmt.Fprintf(&reasons, "\n- %s\n  Reason: %s", r.Summary, r.Reply.Message)
		}
	}
	if reasons.Len() == 0 {
		return "", nil
	}
	return "In the last turn the user denied the following, and said why:" + reasons.String(), nil
}
