package autodecide

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

const (
	sandboxWorkspaceWrite = "workspace-write"
)

// acceptEdit approves a request to change files if the session's controls allow it without asking a user.
func (d *Decider) acceptEdit(ctx context.Context, tx database.Tx, signal runtime.Signal, receivedAt int64, request store.Request,
	controls session.Controls) (
	[]journal.Event, error) {
	if !controls.AcceptEdits || controls.ApprovalPolicy != session.PolicyOnRequest {
		return nil, nil
	}
	stored, err := store.ReadSession(ctx, tx, request.SessionID)
	if err != nil {
		return nil, err
	}
	changed, err := d.changedBy(ctx, tx, request, signal)
	if err != nil || !mayEdit(controls.FilesystemSandbox, stored.Cwd, changed) {
		return nil, err
	}
	return d.autoDecide(ctx, tx, receivedAt, request, session.DecidedByAcceptEdits, runtime.Reply{Decision: "accept", Scope: "turn"})
}

// changedBy lists the files that a request changes: the files it names, else those of its item. It returns nil if the
// files are unknown, or if the request asks for more than file changes.
func (d *Decider) changedBy(ctx context.Context, tx database.Tx, request store.Request, signal runtime.Signal) (
	[]string, error) {
	changed, more := wire.ChangedFiles(signal.Params)
	switch {
	case more:
		return nil, nil
	case changed != nil, request.ItemID == "":
		return changed, nil
	}
	entry, there, err := d.entries.Find(ctx, tx, request.SessionID, request.ItemID)
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

// mayEdit reports whether a session with a sandbox may change files without approval. It never allows more than the
// sandbox allows commands. A user must approve changes to hidden files (.git, settings of agents and editors) in the
// session's folder: they configure programs outside the sandbox.
func mayEdit(sandbox, folder string, changed []string) bool {
	if len(changed) == 0 {
		return false
	}
	switch sandbox {
	case session.SandboxFullAccess:
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

// resolved resolves the symlinks of a path, as far as the path exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if _, err := os.Lstat(path); err == nil {
		return string(filepath.Separator) // a link whose target does not exist yet
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}
