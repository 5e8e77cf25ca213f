package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"harness/database"
	"harness/journal"
	"harness/runtime"
	"harness/runtime/wire"
)

const (
	policyOnRequest = "on-request"

	sandboxWorkspaceWrite = "workspace-write"
	sandboxFullAccess     = "danger-full-access"
)

// DecidedByAcceptEdits is who decided what Controls.AcceptEdits approved.
const DecidedByAcceptEdits = "mode:acceptEdits"

// acceptEdit approves the request that was just stored when it is one to change files that its session's controls let
// pass without a person: decided and stored with the request itself, so that a server that dies in between has either
// none of it or all. The runtime is told as of every decision that was not made by a caller here (deliverLoop).
func (s *Service) acceptEdit(ctx context.Context, tx database.Tx, a arrival, requestID string) ([]journal.Event, error) {
	asked, is := a.signal.Change.(runtime.InteractiveRequested)
	if !is || asked.Kind != runtime.RequestApproval || asked.Asked.Subject != runtime.SubjectFileChange {
		return nil, nil
	}
	request, err := readRequest(ctx, tx, requestID, runtime.RequestApproval)
	if err != nil || request.Status != RequestPending {
		return nil, err
	}
	stored, err := readSession(ctx, tx, request.SessionID)
	if err != nil {
		return nil, err
	}
	_, controls, _, err := s.controlsIn(ctx, tx, request.SessionID)
	if err != nil || !controls.AcceptEdits || controls.ApprovalPolicy != policyOnRequest {
		return nil, err
	}
	changed, err := s.changedBy(ctx, tx, request, a.signal)
	if err != nil || !mayEdit(controls.FilesystemSandbox, stored.Cwd, changed) {
		return nil, err
	}
	if request, err = request.withParams(ctx, tx); err != nil {
		return nil, err
	}
	reply := runtime.Reply{Decision: "accept", Scope: "turn"}
	if s.checkReply(request, reply) != nil {
		return nil, nil //nolint:nilerr // a person finds an answer that it takes
	}
	request.Status, request.Reply, request.DecidedBy = RequestResolved, &reply, DecidedByAcceptEdits
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
	return []journal.Event{requestResolved(request.Request, stored.SystemOwned, DecidedByAcceptEdits)}, nil
}

// changedBy are the files a request is about: those it names, else those of the item it belongs to. nil when that is
// not known, or when it wants more than to change them.
func (s *Service) changedBy(ctx context.Context, tx database.Tx, request requestRow, signal runtime.Signal) (
	[]string, error) {
	changed, more := wire.ChangedFiles(signal.Params)
	switch {
	case more:
		return nil, nil
	case changed != nil, request.ItemID == "":
		return changed, nil
	}
	entry, there, err := s.entries.Find(ctx, tx, request.SessionID, request.ItemID)
	if err != nil || !there {
		return nil, err
	}
	if entry = entry.Whole(); entry.Details == nil {
		return nil, nil
	}
	if changed, more = wire.ChangedFiles([]byte(*entry.Details)); more {
		return nil, nil
	}
	return changed, nil
}

// mayEdit tells whether a session with a sandbox may change files without a person: never more than the sandbox allows
// of commands. In a folder that is its own, what is hidden (.git, the settings of agents and editors) is left to a
// person: it says what programs outside the sandbox run.
func mayEdit(sandbox, folder string, changed []string) bool {
	if len(changed) == 0 {
		return false
	}
	switch sandbox {
	case sandboxFullAccess:
		return true
	case sandboxWorkspaceWrite:
	default:
		return false
	}
	if !filepath.IsAbs(folder) {
		return false
	}
	root := resolved(folder)
	for _, path := range changed {
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		below, err := filepath.Rel(root, resolved(path))
		if err != nil || below == "." {
			return false
		}
		for name := range strings.SplitSeq(below, string(filepath.Separator)) {
			if strings.HasPrefix(name, ".") {
				return false
			}
		}
	}
	return true
}

// resolved is a path without links, as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if _, err := os.Lstat(path); err == nil {
		return string(filepath.Separator) // a link that leads nowhere yet
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}
