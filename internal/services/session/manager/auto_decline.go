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

// autoDecline decides the request that was just stored where that takes no person: changes of files that are let pass, and
// all that a person would be asked in a session without one, which is declined so that the agent goes on. A call of a
// client's tool is no person's.
func (s *Service) autoDecline(ctx context.Context, tx database.Tx, a arrival, requestID string) ([]journal.Event, error) {
	asked, is := a.signal.Change.(runtime.InteractiveRequested)
	if !is || asked.Kind == runtime.RequestToolCall {
		return nil, nil
	}
	request, err := store.ReadRequest(ctx, tx, requestID, asked.Kind)
	if err != nil || request.Status != session.RequestPending {
		return nil, err
	}
	_, controls, _, err := s.ControlsIn(ctx, tx, request.SessionID)
	switch {
	case err != nil:
		return nil, err
	case controls.NonInteractive:
		const why = "Nobody is there to be asked in this session. Go on without it."
		return s.autoDecide(ctx, tx, a, request, session.DecidedByNonInteractive,
			runtime.Reply{Decision: "decline", Message: why}, runtime.Reply{Decision: "decline"}, runtime.Reply{Decision: "cancel"})
	case asked.Kind == runtime.RequestApproval && asked.Asked.Subject == runtime.SubjectFileChange:
		return s.acceptEdit(ctx, tx, a, request, controls)
	}
	return nil, nil
}

// autoDecide decides a request with the first of some replies that its runtime takes, in the transaction that stores
// it: a server that dies in between has either none of it or all. The runtime is told as of every decision that was not
// made by a caller here (deliverLoop). What takes none of them is left to a person.
func (s *Service) autoDecide(ctx context.Context, tx database.Tx, a arrival, request store.Request, by string,
	replies ...runtime.Reply) ([]journal.Event, error) {
	request, err := request.WithParams(ctx, tx)
	if err != nil {
		return nil, err
	}
	for len(replies) > 0 && s.checkReply(request, replies[0]) != nil {
		replies = replies[1:]
	}
	if len(replies) == 0 {
		return nil, nil
	}
	systemOwned, err := store.IsSystemOwned(ctx, tx, request.SessionID)
	if err != nil {
		return nil, err
	}
	request.Status, request.Reply, request.DecidedBy = session.RequestResolved, &replies[0], by
	request.SettledAt = max(a.receivedAt, request.CreatedAt)
	won, err := store.SettleRequest(ctx, tx, request)
	if err == nil && !won {
		err = errors.New("a pending request changed inside the journal's transaction")
	}
	if err != nil {
		return nil, err
	}
	if _, _, err := s.entries.Upsert(ctx, tx, request.SessionID, entryof.Resolution(request.Request)); err != nil {
		return nil, err
	}
	return []journal.Event{requestResolved(request.Request, systemOwned, by)}, nil
}
