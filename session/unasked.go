package session

import (
	"context"
	"errors"

	"harness/database"
	"harness/journal"
	"harness/runtime"
)

const policyNever = "never"

// DecidedByNever is who refused a question in a session that asks nobody.
const DecidedByNever = "policy:never"

// unasked decides the request that was just stored where that takes no person: changes of files that are let pass, and
// questions in a session whose approval policy is that nobody is asked, which are refused so that the agent goes on.
// What an agent asks to be allowed there its adapter settles; a client's tool is no person's.
func (s *Service) unasked(ctx context.Context, tx database.Tx, a arrival, requestID string) ([]journal.Event, error) {
	asked, is := a.signal.Change.(runtime.InteractiveRequested)
	edits := asked.Kind == runtime.RequestApproval && asked.Asked.Subject == runtime.SubjectFileChange
	if questions := asked.Kind == runtime.RequestToolInput; !is || !edits && !questions {
		return nil, nil
	}
	request, err := readRequest(ctx, tx, requestID, asked.Kind)
	if err != nil || request.Status != RequestPending {
		return nil, err
	}
	_, controls, _, err := s.controlsIn(ctx, tx, request.SessionID)
	switch {
	case err != nil:
		return nil, err
	case edits:
		return s.acceptEdit(ctx, tx, a, request, controls)
	case controls.ApprovalPolicy != policyNever:
		return nil, nil
	}
	return s.decideUnasked(ctx, tx, a, request, DecidedByNever, runtime.Reply{Decision: "decline",
		Message: "Nobody is asked in this session. Go on without an answer."})
}

// decideUnasked decides a request in the transaction that stores it, so that a server that dies in between has either
// none of it or all. The runtime is told as of every decision that was not made by a caller here (deliverLoop). What the
// runtime would not take is left to a person, who finds an answer that it takes.
func (s *Service) decideUnasked(ctx context.Context, tx database.Tx, a arrival, request requestRow, by string,
	reply runtime.Reply) ([]journal.Event, error) {
	request, err := request.withParams(ctx, tx)
	if err != nil {
		return nil, err
	}
	if s.checkReply(request, reply) != nil {
		return nil, nil //nolint:nilerr // a person finds an answer that it takes
	}
	systemOwned, err := presence(ctx, tx, request.SessionID)
	if err != nil {
		return nil, err
	}
	request.Status, request.Reply, request.DecidedBy = RequestResolved, &reply, by
	request.SettledAt = max(a.receivedAt, request.CreatedAt)
	won, err := settleRequest(ctx, tx, request)
	if err == nil && !won {
		err = errors.New("a pending request changed inside the journal's transaction")
	}
	if err != nil {
		return nil, err
	}
	if _, _, err := s.entries.Upsert(ctx, tx, request.SessionID, entryOfResolution(request.Request)); err != nil {
		return nil, err
	}
	return []journal.Event{requestResolved(request.Request, systemOwned, by)}, nil
}
