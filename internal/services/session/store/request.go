package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Request is a session.Request with the data needed to answer it.
type Request struct {
	session.Request
	Runtime, Generation, NodeID string
	NativeID                    json.RawMessage
	// damaged reports that the row was changed outside the program. kept is its stored checksum.
	damaged bool
	kept    sql.NullInt64
}

// Ref identifies the request for the runtime that asked.
func (r Request) Ref() runtime.RequestRef {
	return runtime.RequestRef{Generation: r.Generation, RequestID: r.NativeID, Method: r.Method, Kind: r.Kind,
		ThreadID: r.SessionID, TurnID: r.TurnID, Params: r.Params, Asked: r.Asked}
}

const requestColumns = `id, kind, session_id, turn_id, item_id, method, summary, params, runtime, generation, native_id, node_id, status,
	reply, decided_by, created_at, settled_at, decisions, questions, asked, native_request, checksum`

// InsertRequest stores a pending request; parameters longer than a part go to a separate table.
func InsertRequest(ctx context.Context, tx database.Tx, r Request) error {
	known, long := runtime.KnownID(string(r.NativeID)), ""
	if known != string(r.NativeID) {
		long = string(r.NativeID)
	}
	params := ""
	if len(r.Params) <= database.PartBytes {
		params = string(r.Params)
	}
	asks := []string{r.ID, string(r.Kind), database.EncodeText(r.SessionID), database.EncodeText(r.TurnID),
		database.EncodeText(r.ItemID), database.EncodeText(r.Method), database.EncodeText(r.Summary), r.Runtime, r.Generation,
		database.EncodeText(known), string(r.Decisions), string(r.Questions), string(javascript.MustEncode(r.Asked)), database.EncodeText(long)}
	args := []any{params, r.NodeID, r.CreatedAt, database.Checksum(0).Add(string(r.Params)).Column(checksumOf(asks))}
	for _, one := range asks {
		args = append(args, one)
	}
	_, err := tx.ExecContext(ctx, `insert into interactive_requests (`+requestColumns+`)
		values ($5, $6, $7, $8, $9, $10, $11, $1, $12, $13, $14, $2, 'pending', '', '', $3, 0, $15, $16, $17, $18, $4)`, args...)
	if err != nil {
		return fmt.Errorf("store interactive request %s: %w", r.ID, err)
	}
	if params != "" {
		return nil
	}
	return database.WriteParts(ctx, tx, r.parts(), database.Parts(r.Params))
}

// parts returns the key of long parameters.
func (r Request) parts() database.PartKey {
	return database.PartKey{Table: "request_parts", Columns: []string{"request"}, Values: []any{database.EncodeText(r.ID)}}
}

// WithParams returns a request with all parameters; ReadRequest omits long ones.
func (r Request) WithParams(ctx context.Context, q database.Querier) (Request, error) {
	if len(r.Params) > 0 {
		return r, nil
	}
	params, err := database.ReadParts(ctx, q, r.parts())
	if r.Params = params; err == nil && r.kept.Valid {
		if sum, _ := database.Checksums(r.kept.Int64); sum != database.Checksum(0).Add(string(params)) {
			r.damage()
		}
	}
	return r, err
}

// SettleRequest is the compare-and-set: it returns false if the request is no longer pending. Only an expiry can
// revoke a decision, if the runtime has not received it.
func SettleRequest(ctx context.Context, tx database.Tx, r Request) (bool, error) {
	if err := r.checkDamage(); err != nil {
		return false, err
	}
	var reply string
	if r.Reply != nil {
		encoded, err := json.Marshal(r.Reply)
		if err != nil {
			return false, fmt.Errorf("encode reply to request %s: %w", r.ID, err)
		}
		reply = string(encoded)
	}
	result, err := tx.ExecContext(ctx,
		`update interactive_requests set status = $2, reply = $3, decided_by = $4, settled_at = $5
		where id = $1 and (status = 'pending' or (status = 'resolved' and delivered_at = 0 and $2 = 'expired'))`,
		r.ID, string(r.Status), reply, database.EncodeText(r.DecidedBy), r.SettledAt)
	if err != nil {
		return false, fmt.Errorf("settle request %s: %w", r.ID, err)
	}
	affected, err := result.RowsAffected()
	return affected == 1, err
}

// ReadRequest reads a request without long parameters. It returns ErrRequestNotFound for an unknown id.
func ReadRequest(ctx context.Context, q database.Querier, id string, kind runtime.RequestKind) (Request, error) {
	row, err := scanRequest(
		q.QueryRowContext(ctx, `select `+requestColumns+` from interactive_requests where id = $1 and kind = $2`,
			database.EncodeText(id), string(kind)))
	return found(row, err)
}

// ReadNativeRequest finds a request by the runtime's id for it.
func ReadNativeRequest(ctx context.Context, q database.Querier, generation string, nativeID json.RawMessage) (
	Request, error) {
	row, err := scanRequest(q.QueryRowContext(ctx, `select `+requestColumns+` from interactive_requests
		where generation = $1 and native_id = $2`, generation, database.EncodeText(runtime.KnownID(string(nativeID)))))
	return found(row, err)
}

func found(row Request, err error) (Request, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return Request{}, session.ErrRequestNotFound
	}
	if err != nil {
		return Request{}, fmt.Errorf("read interactive request: %w", err)
	}
	return row, nil
}

// PendingRequests lists the pending requests of a session, oldest first, without long parameters.
func PendingRequests(ctx context.Context, q database.Querier, sessionID string) ([]Request, error) {
	return QueryRequests(ctx, q, `where session_id = $1 and status = 'pending' order by created_at, id`,
		database.EncodeText(sessionID))
}

// PendingRequestsOfNode lists the pending requests of all sessions of a node.
func PendingRequestsOfNode(ctx context.Context, q database.Querier, nodeID string) ([]Request, error) {
	return QueryRequests(ctx, q, `where node_id = $1 and status = 'pending' order by created_at, id`, nodeID)
}

// UndeliveredRequests lists the decided requests of a node whose runtimes may not have the decision: their turns still
// wait. A decision for an ended turn needs no delivery.
func UndeliveredRequests(ctx context.Context, q database.Querier, nodeID string) ([]Request, error) {
	return QueryRequests(ctx, q,
		`where node_id = $1 and status = 'resolved' and delivered_at = 0 and (turn_id = '' or exists (select 1 from turns t
			where t.session_id = r.session_id and t.turn_id = r.turn_id and t.status = 'inProgress'))
		order by created_at, id`, nodeID)
}

// IsUndelivered reports whether a request is decided and its runtime may not have the decision yet.
func IsUndelivered(ctx context.Context, q database.Querier, id string) (bool, error) {
	var count int
	err := q.QueryRowContext(ctx,
		`select count(*) from interactive_requests where id = $1 and status = 'resolved' and delivered_at = 0`, id).
		Scan(&count)
	if err != nil {
		return false, fmt.Errorf("look whether request %s was answered: %w", id, err)
	}
	return count == 1, nil
}

// QueryRequests reads the requests that where selects, without long parameters.
func QueryRequests(ctx context.Context, q database.Querier, where string, args ...any) ([]Request, error) {
	return database.ReadAll(ctx, q, "read interactive requests", scanRequest, `select `+requestColumns+
		` from interactive_requests r `+where, args...)
}

func scanRequest(row database.Row) (Request, error) {
	var (
		r                       Request
		params, nativeID, reply string
		decisions, questions    string
		asked, long             string
	)
	if err := row.Scan(&r.ID, &r.Kind, &r.SessionID, &r.TurnID, &r.ItemID, &r.Method, &r.Summary, &params, &r.Runtime,
		&r.Generation, &nativeID, &r.NodeID, &r.Status, &reply, &r.DecidedBy, &r.CreatedAt, &r.SettledAt,
		&decisions, &questions, &asked, &long, &r.kept); err != nil {
		return Request{}, err
	}
	asks := []string{r.ID, string(r.Kind), r.SessionID, r.TurnID, r.ItemID, r.Method, r.Summary, r.Runtime, r.Generation, nativeID,
		decisions, questions, asked, long}
	for _, text := range []*string{&r.SessionID, &r.TurnID, &r.ItemID, &r.Method, &r.Summary, &r.DecidedBy} {
		*text = database.DecodeText(*text)
	}
	r.OfServer = r.Runtime == session.EventSource
	r.Params, r.NativeID = json.RawMessage(params), json.RawMessage(database.DecodeText(cmp.Or(long, nativeID)))
	if decisions != "" {
		r.Decisions = json.RawMessage(decisions)
	}
	if questions != "" {
		r.Questions = json.RawMessage(questions)
	}
	if r.kept.Valid {
		sum, rest := database.Checksums(r.kept.Int64)
		if rest != checksumOf(asks) || params != "" && sum != database.Checksum(0).Add(params) {
			r.damage()
			asked = ""
		}
	}
	if asked != "" {
		if err := json.Unmarshal([]byte(asked), &r.Asked); err != nil {
			return Request{}, fmt.Errorf("decode what request %s asks: %w", r.ID, err)
		}
	}
	if reply != "" {
		r.Reply = new(runtime.Reply)
		if err := json.Unmarshal([]byte(reply), r.Reply); err != nil {
			return Request{}, fmt.Errorf("decode reply of request %s: %w", r.ID, err)
		}
		for _, member := range []*json.RawMessage{&r.Reply.Answers, &r.Reply.ContentItems, &r.Reply.Raw, &r.Reply.Choice,
			&r.Reply.UpdatedInput,
			&r.Reply.Remember} {
			if string(*member) == "null" {
				*member = nil
			}
		}
	}
	return r, nil
}
