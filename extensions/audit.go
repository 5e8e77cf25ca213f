package extensions

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// EventReload is the journal event of every attempt to reload; its payload is an AuditRecord. Clients get no frame for
// it.
const EventReload = "extension.reload"

// The results of an AuditRecord.
const (
	AuditSuccess   = "success"
	AuditFailed    = "failed"
	AuditForbidden = "forbidden"
)

// AuditRecord describes one attempt to reload, including refused ones. The keys are codex-manager's.
type AuditRecord struct {
	ReloadID       string        `json:"reloadId"`
	RecordedAt     string        `json:"recordedAt"` // ISO 8601
	ActorRole      string        `json:"actorRole"`  // "unknown" if the caller was not identified
	ActorID        *string       `json:"actorId"`
	RequestOrigin  RequestOrigin `json:"requestOrigin"`
	Result         string        `json:"result"`
	SnapshotBefore string        `json:"snapshotBefore"`
	SnapshotAfter  *string       `json:"snapshotAfter"`
	TrustMode      TrustMode     `json:"trustMode"`
	ErrorSummary   *string       `json:"errorSummary"`
	Impacted       []string      `json:"impactedExtensions"`
}

// RequestOrigin describes where an attempt came from.
type RequestOrigin struct {
	IP        *string `json:"ip"`
	UserAgent *string `json:"userAgent"`
}

// Complete fills a record with the outcome of a reload.
func (a *AuditRecord) Complete(result ReloadResult) {
	a.ReloadID, a.SnapshotBefore, a.Impacted = result.ReloadID, result.SnapshotBefore, []string{}
	if result.Code == Reloaded {
		a.Result, a.SnapshotAfter = AuditSuccess, &result.SnapshotVersion
		for _, module := range result.Modules {
			a.Impacted = append(a.Impacted, module.Name)
		}
		return
	}
	a.Result = AuditFailed
	summaries := make([]string, 0, len(result.Errors))
	for _, problem := range result.Errors {
		summaries = append(summaries, string(problem.Code)+":"+problem.Message)
		a.Impacted = append(a.Impacted, problem.Extension)
	}
	summary := strings.Join(summaries, "; ")
	a.ErrorSummary = &summary
}

// Audit stores the records of reloads: a row and a journal event in one transaction.
type Audit struct {
	journal Journal
	db      *database.DB
	clock   func() time.Time
}

// NewAudit makes the audit on a store. clock may be nil.
func NewAudit(source Journal, db *database.DB, clock func() time.Time) *Audit {
	if clock == nil {
		clock = time.Now
	}
	return &Audit{journal: source, db: db, clock: clock}
}

// Append records one attempt and sets RecordedAt. It returns after the commit.
func (a *Audit) Append(ctx context.Context, record AuditRecord) error {
	at := a.clock().UnixMilli()
	record.RecordedAt = javascript.ISOTime(at)
	if record.Impacted == nil {
		record.Impacted = []string{}
	}
	impacted := string(encode(record.Impacted))
	_, err := a.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx,
			`insert into extension_reloads (reload_id, recorded_at, actor_role, actor_id, ip, user_agent, result,
			snapshot_before, snapshot_after, trust_mode, error_summary, impacted) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			record.ReloadID, at, record.ActorRole, storable(record.ActorID), storable(record.RequestOrigin.IP),
			storable(record.RequestOrigin.UserAgent), record.Result, record.SnapshotBefore, storable(record.SnapshotAfter),
			string(record.TrustMode), storable(record.ErrorSummary), impacted)
		if err != nil {
			return nil, fmt.Errorf("record extension reload %s: %w", record.ReloadID, err)
		}
		actor := record.ActorRole
		if record.ActorID != nil {
			actor = database.EncodeText(*record.ActorID)
		}
		return []journal.Event{{Type: EventReload, Time: at, Source: "extensions", Actor: actor, Payload: encode(record)}},
			nil
	})
	return err
}

// List returns the newest records first.
func (a *Audit) List(ctx context.Context, limit int) ([]AuditRecord, error) {
	return database.ReadAll(ctx, a.db.Read(), "read extension reloads", scanReload,
		`select reload_id, recorded_at, actor_role, actor_id, ip,
		user_agent, result, snapshot_before, snapshot_after, trust_mode, error_summary, impacted
		from extension_reloads order by recorded_at desc, reload_id desc limit $1`, limit)
}

func scanReload(row database.Row) (record AuditRecord, err error) {
	var (
		at                                                        int64
		actorID, ip, userAgent, snapshotAfter, errorSummary, list sql.NullString
	)
	if err := row.Scan(&record.ReloadID, &at, &record.ActorRole, &actorID, &ip, &userAgent, &record.Result,
		&record.SnapshotBefore,
		&snapshotAfter, &record.TrustMode, &errorSummary, &list); err != nil {
		return AuditRecord{}, err
	}
	record.RecordedAt = javascript.ISOTime(at)
	record.ActorID, record.SnapshotAfter, record.ErrorSummary = restored(actorID), restored(snapshotAfter), restored(
		errorSummary)
	record.RequestOrigin = RequestOrigin{IP: restored(ip), UserAgent: restored(userAgent)}
	if err := json.Unmarshal([]byte(list.String), &record.Impacted); err != nil {
		return AuditRecord{}, fmt.Errorf("cannot read the extensions of reload %s: %w", record.ReloadID, err)
	}
	return record, nil
}

func storable(text *string) any {
	if text == nil {
		return nil
	}
	return database.EncodeText(*text)
}

func restored(text sql.NullString) *string {
	if !text.Valid {
		return nil
	}
	decoded := database.DecodeText(text.String)
	return &decoded
}
