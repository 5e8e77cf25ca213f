package controledit

import (
	"context"
	"errors"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// CheckRestart refuses changes that would replace the process of a session's background work: *BackgroundError. It
// reads the background work from q.
func (e *Editor) CheckRestart(ctx context.Context, q database.Querier, adapter runtime.Adapter, in runtime.StartTurn, wish string) error {
	restarter, is := adapter.(runtime.Restarter)
	if !is || !restarter.RestartsFor(in) {
		return nil
	}
	tasks, err := store.ReadBackgroundOf(ctx, q, in.ThreadID)
	if err != nil || len(tasks) == 0 { // the work ended just now
		return err
	}
	return &session.BackgroundError{SessionID: in.ThreadID, Tasks: tasks, Wish: wish}
}

// WishOf describes the difference between controls, as in BackgroundError.Wish.
func WishOf(before, after session.Controls) string {
	var changed []string
	for _, one := range []struct {
		name    string
		differs bool
	}{
		{"model", before.ModelName() != after.ModelName()}, {"approval policy", before.ApprovalPolicy != after.ApprovalPolicy},
		{"sandbox", before.FilesystemSandbox != after.FilesystemSandbox}, {"network access", before.NetworkAccess != after.NetworkAccess},
	} {
		if one.differs {
			changed = append(changed, one.name)
		}
	}
	if len(changed) == 0 {
		return "the model, its effort and the levels cannot change"
	}
	return "the " + strings.Join(changed, " and the ") + " cannot change"
}

func sameLevels(a, b session.Controls) bool {
	return a.ModelName() == b.ModelName() && a.ApprovalPolicy == b.ApprovalPolicy && a.FilesystemSandbox == b.FilesystemSandbox &&
		a.NetworkAccess == b.NetworkAccess
}

// levelsOf converts controls to the levels of a message.
func levelsOf(sessionID string, c session.Controls) runtime.StartTurn {
	return runtime.StartTurn{ThreadID: sessionID, Model: c.ModelName(), ApprovalPolicy: c.ApprovalPolicy, Sandbox: c.FilesystemSandbox,
		NetworkAccess: c.NetworkAccess}
}

// checkEditRestart is CheckRestart for an edit of controls: it refuses controls that the next message could not use.
func (e *Editor) checkEditRestart(ctx context.Context, tx database.Tx, sessionID, runtimeName string, before,
	after session.Controls) error {
	adapter, _ := e.options.Runtimes.Adapter(runtimeName)
	if adapter == nil || sameLevels(before, after) {
		return nil
	}
	err := e.CheckRestart(ctx, tx, adapter, levelsOf(sessionID, after), WishOf(before, after))
	if refused := (*session.BackgroundError)(nil); errors.As(err, &refused) {
		return journal.Refuse(err)
	}
	return err
}
