// Package audit keeps one tamper-evident log of who did what: requests, decisions, tool runs, failures of runtimes and
// of the store, the configuration and changes of extensions.
//
// It owns which journal events are part of the log, the chain of hashes over them, and the check of that chain. It
// writes the row of an event in the event's transaction: no act lacks a row, and no row lacks an act. A request that
// may change something has a separate row, even if it was refused (Recorder). That row is written after the response,
// and must never contain a body or a header of the request.
package audit

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Row is one entry of the log.
type Row struct {
	Seq       int64  `json:"seq"`
	Pos       int64  `json:"pos"`
	SessionID string `json:"session_id"`
	// At is in ms.
	At     int64           `json:"at"`
	Actor  string          `json:"actor"`
	Role   string          `json:"role,omitempty"` // the actor's; "" without an access check, and in rows of older releases
	Kind   string          `json:"kind"`
	Detail json.RawMessage `json:"detail"`
	Hash   string          `json:"hash"`
}

// seal returns the hash of a row that follows one with the hash before, "" for the first. It seals the event's detail
// as a text, so that any detail has a hash.
func (r Row) seal(before string) string {
	sealed := []any{before, r.Seq, r.Pos, r.SessionID, r.At, r.Actor, r.Kind, string(r.Detail)}
	if r.Role != "" {
		sealed = append(sealed, r.Role)
	}
	text, err := json.Marshal(sealed)
	if err != nil {
		panic("audit: numbers and texts have no JSON: " + err.Error()) // a bug in the program
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxDetail bounds the bytes of an event in the log. The event has the rest, as long as it is kept, and the log has its
// hash.
const maxDetail = 16 << 10

// kinds returns the events that are part of the log.
func kinds() map[string]bool {
	all := map[string]bool{}
	for _, kind := range []string{
		"approval_resolved", "tool_user_input_resolved", "tool_call_resolved", "session_deleted", "session_project_updated",
		"session_rolled_back", "console.session_rewound",
		"project_upserted", "project_deleted", "session.renamed", "runtime.started", "runtime.exited",
		"runtime.refused", "extension.reload", "tool.call.requested", "tool.call.policy_evaluated", "tool.call.approved",
		"tool.call.denied", "tool.call.started", "tool.call.completed", "session.created", "message.sent", "turn.stopped",
		"turn.failed", "turn.retrying", "session.started_by_session",
		"configuration.loaded", "default_controls.changed", "store.refused", "store.mended", "store.damaged",
		"access_token.created", "access_token.changed", "access_token.revoked", "login.began", "login.changed", "login.ended",
		"price.set", "price.removed",
	} {
		all[kind] = true
	}
	return all
}

// Writer seals events as they are stored. Make it with NewWriter and pass Write to the journal
// (journal.Options.Before).
type Writer struct{ kinds map[string]bool }

// NewWriter makes a writer.
func NewWriter() *Writer { return &Writer{kinds()} }

// Write adds the rows of events that are about to be stored, in their transaction; first is the position of the first
// one. The journal's writer holds the lock that orders all servers, so the chain has only one end.
func (w *Writer) Write(ctx context.Context, tx database.Tx, first int64, events []journal.Record) error {
	var rows []Row
	for i, event := range events {
		if w.kinds[event.Type] {
			rows = append(rows, Row{Pos: first + int64(i), SessionID: event.SessionID, At: event.Time, Actor: event.Actor,
				Role: event.Role, Kind: event.Type, Detail: detail(event.Payload)})
		}
	}
	return put(ctx, tx, rows)
}

// put seals rows after the last one of the log, and stores them.
func put(ctx context.Context, tx database.Tx, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	last, err := end(ctx, tx)
	if err != nil {
		return err
	}
	args := make([]any, 0, len(rows)*len(kindsOfColumns))
	for i := range rows {
		row := &rows[i]
		row.Seq = last.Seq + 1
		row.Hash = row.seal(last.Hash)
		last = *row
		args = append(args, row.Seq, row.Pos, row.SessionID, row.At, row.Actor, row.Kind, string(row.Detail), row.Hash, row.Role)
	}
	if err := insertRows.Exec(ctx, tx, args); err != nil {
		return fmt.Errorf("write audit rows %d to %d: %w", rows[0].Seq, last.Seq, err)
	}
	return nil
}

var (
	kindsOfColumns = []database.Kind{database.Int, database.Int, database.Text, database.Int, database.Text, database.Text,
		database.Text, database.Text, database.Text}
	insertRows = database.NewBulk(`insert into audit_log (`+columns+`) {rows}`, kindsOfColumns...)
)

// end returns the last row of the log, the zero Row for an empty log.
func end(ctx context.Context, q database.Querier) (Row, error) {
	row, err := scan(q.QueryRowContext(ctx, `select `+columns+` from audit_log order by seq desc limit 1`))
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, nil
	}
	if err != nil {
		return Row{}, fmt.Errorf("read the end of the audit log: %w", err)
	}
	return row, nil
}

// detail returns an event's payload, or the hash and size of a long one.
func detail(payload json.RawMessage) json.RawMessage {
	if len(payload) <= maxDetail {
		return payload
	}
	sum := sha256.Sum256(payload)
	return json.RawMessage(fmt.Sprintf(`{"payload_hash":"sha256:%s","payload_bytes":%d}`, hex.EncodeToString(sum[:]),
		len(payload)))
}

const columns = `seq, pos, session_id, at, actor, kind, detail, hash, role`

func scan(row database.Row) (r Row, err error) {
	var detail string
	err = row.Scan(&r.Seq, &r.Pos, &r.SessionID, &r.At, &r.Actor, &r.Kind, &detail, &r.Hash, &r.Role)
	r.Detail = json.RawMessage(detail)
	return r, err
}

// Each calls fn with every row in order; sessionID selects those of one session, "" all.
func Each(ctx context.Context, q database.Querier, sessionID string, fn func(Row) error) error {
	where, args := "", []any(nil)
	if sessionID != "" {
		where, args = ` where session_id = $1`, []any{database.EncodeText(sessionID)}
	}
	return database.ReadEach(ctx, q, "read the audit log", func(one database.Row) error {
		row, err := scan(one)
		if err != nil {
			return err
		}
		return fn(row)
	}, `select `+columns+` from audit_log`+where+` order by seq`, args...)
}
