package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
)

// bulkOrigin is the common part of one request's events.
type bulkOrigin struct {
	Time    int64  `json:"time"` // ms
	Actor   string `json:"actor"`
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

func (s *Upserter) insertBulk(ctx context.Context, tx database.Tx, u *upsert, stored int) (id string, err error) {
	id = ids.New()
	first := u.events[0]
	entries := append(make([]byte, 0, u.bytes), '[')
	for i := range u.entries {
		if i > 0 {
			entries = append(entries, ',')
		}
		entries = u.entries[i].AppendJSON(entries)
	}
	_, err = tx.ExecContext(ctx,
		`insert into bulk_upserts (id, node_id, session_id, origin, entries, stored) values ($1, $2, $3, $4, $5, $6)`,
		id, s.nodeID, database.EncodeText(u.sessionID),
		database.EncodeText(string(encode(bulkOrigin{first.Time, first.Actor, first.TraceID, first.SpanID}))),
		string(append(entries, ']')), stored)
	return id, err
}

func advanceBulk(ctx context.Context, tx database.Tx, id string, stored int) error {
	_, err := tx.ExecContext(ctx, `update bulk_upserts set stored = $2 where id = $1`, id, stored)
	return err
}

func deleteBulk(ctx context.Context, tx database.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `delete from bulk_upserts where id = $1`, id)
	return err
}

// readBulks reads this node's requests that are only partly stored.
func (s *Upserter) readBulks(ctx context.Context) ([]*upsert, error) {
	return database.ReadAll(ctx, s.db.Read(), "read the upserts to complete", func(row database.Row) (*upsert, error) {
		u := &upsert{ctx: ctx, result: make(chan error, 1)}
		var common, entries string
		if err := row.Scan(&u.row, &u.sessionID, &common, &entries, &u.stored); err != nil {
			return nil, err
		}
		u.sessionID = database.DecodeText(u.sessionID)
		var origin bulkOrigin
		if err := errors.Join(json.Unmarshal([]byte(database.DecodeText(common)), &origin),
			json.Unmarshal([]byte(entries), &u.entries)); err != nil {
			return nil, fmt.Errorf("upsert %s: %w", u.row, err)
		}
		u.encode(origin.Time)
		for i := range u.events {
			u.events[i].Actor, u.events[i].TraceID, u.events[i].SpanID = origin.Actor, origin.TraceID, origin.SpanID
		}
		return u, nil
	}, `select id, session_id, origin, entries, stored from bulk_upserts where node_id = $1 order by id`, s.nodeID)
}
