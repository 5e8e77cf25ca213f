package operations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"harness/extensions"
)

// Extensions has the methods of extensions that the operations need; *extensions.Registry implements it.
type Extensions interface {
	List() extensions.Listing
	Reload(ctx context.Context, reloadID string) extensions.ReloadResult
	SnapshotVersion() string
	TrustMode() extensions.TrustMode
}

// ReloadAudit records reload attempts; *extensions.Audit implements it.
type ReloadAudit interface {
	Append(ctx context.Context, record extensions.AuditRecord) error
}

// Lifecycle lists and reloads extensions. All parts except Reloaded are required.
type Lifecycle struct {
	Extensions Extensions
	Audit      ReloadAudit
	// Reloaded, when set, is called after every successful reload. It must not block.
	Reloaded func()
}

// Attempt is the caller of a reload, and its origin. An empty Role is an unknown caller. Refused is the code of a
// refusal, "" for an allowed caller.
type Attempt struct {
	Role, Actor, Refused string
	Origin               extensions.RequestOrigin
}

// UnrecordedError reports that a reload attempt could not be recorded, whatever its outcome.
type UnrecordedError struct {
	ReloadID, Result string
	Err              error
}

// Error implements error.
func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("reload %s (%s) of extensions could not be recorded: %v", e.ReloadID, e.Result, e.Err)
}

// Unwrap returns the reason.
func (e *UnrecordedError) Unwrap() error { return e.Err }

// auditTimeout limits the record of an attempt whose client disconnected.
const auditTimeout = 10 * time.Second

// Reload reloads the extensions for an allowed caller. It records every attempt before it returns, including refused
// ones. *UnrecordedError.
func (l *Lifecycle) Reload(ctx context.Context, by Attempt) (extensions.ReloadResult, error) {
	// A started reload is completed and recorded even if its client disconnects: an incomplete reload is useless.
	ctx = context.WithoutCancel(ctx)
	record := extensions.AuditRecord{ReloadID: uuid.NewString(), ActorRole: "unknown", RequestOrigin: by.Origin,
		TrustMode: l.Extensions.TrustMode(), SnapshotBefore: l.Extensions.SnapshotVersion()}
	if by.Role != "" {
		record.ActorRole = by.Role
	}
	if by.Actor != "" {
		record.ActorID = &by.Actor
	}
	var result extensions.ReloadResult
	if by.Refused != "" {
		record.Result, record.ErrorSummary = extensions.AuditForbidden, &by.Refused
	} else {
		result = l.Extensions.Reload(ctx, record.ReloadID)
		record.Complete(result)
		if result.Code == extensions.Reloaded && l.Reloaded != nil {
			l.Reloaded()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	if err := l.Audit.Append(ctx, record); err != nil {
		return result, &UnrecordedError{ReloadID: record.ReloadID, Result: record.Result, Err: err}
	}
	return result, nil
}
