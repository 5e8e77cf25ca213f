package operations

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"harness/extensions"
)

// Extensions is what the operations need of extensions; *extensions.Registry implements it.
type Extensions interface {
	List() extensions.Listing
	Reload(ctx context.Context, reloadID string) extensions.ReloadResult
	SnapshotVersion() string
	TrustMode() extensions.TrustMode
}

// ReloadAudit keeps the record of reload attempts; *extensions.Audit implements it.
type ReloadAudit interface {
	Append(ctx context.Context, record extensions.AuditRecord) error
}

// Lifecycle lists and reloads extensions. All parts but Reloaded are required.
type Lifecycle struct {
	Extensions Extensions
	Audit      ReloadAudit
	// Reloaded, when set, is called after every reload that went well. It must not block.
	Reloaded func()
}

// Attempt is who wants extensions reloaded, and from where. An empty Role is an unknown caller. Refused is the code of why
// they may not, "" for who may.
type Attempt struct {
	Role, Actor, Refused string
	Origin               extensions.RequestOrigin
}

// UnrecordedError says that an attempt to reload could not be recorded, whatever became of it.
type UnrecordedError struct {
	ReloadID, Result string
	Err              error
}

// Error implements error.
func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("reload %s (%s) of extensions could not be recorded: %v", e.ReloadID, e.Result, e.Err)
}

// Unwrap is why.
func (e *UnrecordedError) Unwrap() error { return e.Err }

// auditTimeout bounds the record of an attempt whose client went away.
const auditTimeout = 10 * time.Second

// Reload reads the extensions anew, for who may, and records every attempt before it is answered, a refused one too.
// *UnrecordedError.
func (l *Lifecycle) Reload(ctx context.Context, by Attempt) (extensions.ReloadResult, error) {
	// What began is ended and recorded, whether its client waits or not: half of a reload is of no use.
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
