package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"harness/internal/platform/database"
)

// PayloadAtEventPos is SQL for the payload of the event at the position in the column event_pos of another table, null
// if there is none. With it, a table need not store an event's content a second time. A table of positions copies what
// it needs before events are pruned (BeforePrune).
const PayloadAtEventPos = `(select ` + Payload + ` from journal_events where pos = event_pos)`

// ChecksumAtEventPos is SQL for the checksum of that event. Its high 32 bits are the checksum of the payload.
const ChecksumAtEventPos = `(select journal_events.checksum from journal_events where pos = event_pos)`

// PayloadStartAtEventPos is PayloadAtEventPos, except that for a long payload it is only the first part.
const PayloadStartAtEventPos = `(select case when journal_events.payload = '' then (select part from journal_parts
	where journal_parts.pos = journal_events.pos order by number limit 1) else journal_events.payload end
	from journal_events where pos = event_pos)`

// Query selects records by global position.
type Query struct {
	// After is the last position already known. Before is the exclusive end of the wanted events; 0 means all.
	After, Before int64
	// Session, when set, leaves out other sessions' events unless they are broadcasts; global events stay.
	Session string
	// Limit bounds the answer; 0 means 256.
	Limit int
	// Short omits payloads that are too long for their row, so that a reader of all events does not load them.
	Short bool
}

const (
	defaultLimit = 256
	columns      = `pos, seq, schema_version, session_id, turn_id, item_id, type, time, source, actor, broadcast, ` +
		`trace_id, span_id, meta, payload`
	// rows are the stored columns, including those of payloads in parts. A payload without its parts fails its
	// checksum.
	rows   = columns + `, checksum`
	stored = `pos, seq, schema_version, session_id, turn_id, item_id, type, time, source, actor, broadcast, trace_id, span_id, meta, ` +
		`coalesce(` + Payload + `, 'null'), checksum`
	// kept is the position $1, or the one before the oldest event if that is later. Rows up to it are about to be
	// deleted (Prune), and the tables that refer to them have copied what they need.
	kept = `(select case when oldest > $1 then oldest - 1 else $1 end from journal_head where id = 1)`
	// isKept is the condition that a row is not about to be deleted. It does not make an engine scan all rows by
	// position.
	isKept      = `+pos >= (select oldest from journal_head where id = 1)`
	selectAfter = `select ` + stored + ` from journal_events where pos > ` + kept + ` order by pos limit $2`
)

// reader reads events from the store, and returns them only once they are durable.
type reader struct {
	db        *database.DB
	barrier   *barrier // nil without one
	upcast    func(version int, event Event) Event
	onDamaged func(pos int64) // Hooks.Damaged
}

// Read returns the committed records after a position, in order.
func (r *reader) Read(ctx context.Context, query Query) ([]Record, error) {
	limit := query.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	before := query.Before
	if before == 0 {
		before = math.MaxInt64
	}
	if query.Session == "" {
		return r.readAfter(ctx, query.After, before, limit, query.Short)
	}
	wanted := stored
	if query.Short {
		wanted = rows
	}
	return r.read(ctx, `select `+wanted+
		` from journal_events where pos > `+kept+` and pos < $4 and (session_id in ($2, '') or broadcast = 1) order by pos limit $3`,
		query.After, query.Session, limit, before)
}

// readAfter is Read for all sessions, which every process uses for the events of other processes. It reads rows as they
// are, which is a third of the work, and reads again if a payload is stored in parts.
//
// Neither the bound nor the limit is a parameter, because Postgres would then plan the statement at each execution,
// which takes as long as running it.
func (r *reader) readAfter(ctx context.Context, after, before int64, limit int, short bool) (records []Record, err error) {
	where := ` from journal_events where pos > ` + kept + ` and pos < (select cast($2 as bigint)) order by pos limit ` + strconv.Itoa(limit)
	err = r.settled(ctx, func(q database.Querier) (last int64, err error) {
		records, err = r.readFrom(ctx, q, `select `+rows+where, after, before)
		if err == nil && !short && slices.ContainsFunc(records, func(r Record) bool { return len(r.Payload) == 0 }) {
			records, err = r.readFrom(ctx, q, `select `+stored+where, after, before)
		}
		return lastOf(records), err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// lastOf returns the highest position of records, 0 if there are none.
func lastOf(records []Record) (last int64) {
	for i := range records {
		last = max(last, records[i].Pos)
	}
	return last
}

// ReadSession returns one session's records after a per-session sequence number, in order. Session "" means the global
// events.
func (r *reader) ReadSession(ctx context.Context, sessionID string, afterSeq int64, limit int) ([]Record, error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	return r.read(ctx, `select `+stored+` from journal_events where session_id = $1 and seq > $2 and `+isKept+
		` order by seq limit $3`, sessionID, afterSeq, limit)
}

// Sequence returns the number of a session's newest event, 0 if it had none. It remains after the events are pruned.
func Sequence(ctx context.Context, q database.Querier, sessionID string) (seq int64, err error) {
	err = q.QueryRowContext(ctx, `select seq from journal_sequences where session_id = $1`, sessionID).Scan(&seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read the sequence number of session %q: %w", sessionID, err)
	}
	return seq, nil
}

// Bounds returns the oldest kept position (1 if nothing was ever pruned) and the last committed one.
func (r *reader) Bounds(ctx context.Context) (oldest, head int64, err error) {
	err = r.settled(ctx, func(q database.Querier) (int64, error) {
		oldest, head, err = Bounds(ctx, q)
		return head, err
	})
	return oldest, head, err
}

// Bounds is Journal.Bounds for a given state of the store.
func Bounds(ctx context.Context, q database.Querier) (oldest, head int64, err error) {
	if err := q.QueryRowContext(ctx, `select oldest, pos from journal_head where id = 1`).Scan(&oldest,
		&head); err != nil {
		return 0, 0, fmt.Errorf("read the journal head: %w", err)
	}
	return oldest, head, nil
}

func (r *reader) read(ctx context.Context, query string, args ...any) (records []Record, err error) {
	err = r.settled(ctx, func(q database.Querier) (last int64, err error) {
		records, err = r.readFrom(ctx, q, query, args...)
		return lastOf(records), err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

func (r *reader) readFrom(ctx context.Context, q database.Querier, query string, args ...any) ([]Record, error) {
	return database.ReadAll(ctx, q, "read the journal", func(row database.Row) (Record, error) {
		record, err := r.scan(row)
		if err == nil && r.upcast != nil && record.SchemaVersion < SchemaVersion {
			record.Event = r.upcast(record.SchemaVersion, record.Event)
		}
		return record, err
	}, query, args...)
}

// scan reads a row. It returns EventDamaged for a damaged one.
func (r *reader) scan(row database.Row) (Record, error) {
	record, kept, err := scanRow(row)
	if err == nil && kept.Valid && !record.intact(kept.Int64) {
		r.foundDamaged(record.Pos)
		record = record.damaged()
	}
	return record, err
}

func scanRow(row database.Row) (record Record, kept sql.NullInt64, err error) {
	var (
		broadcast     int64
		meta, payload []byte
	)
	err = row.Scan(&record.Pos, &record.Seq, &record.SchemaVersion, &record.SessionID, &record.TurnID, &record.ItemID,
		&record.Type, &record.Time, &record.Source, &record.Actor, &broadcast, &record.TraceID, &record.SpanID,
		&meta, &payload, &kept)
	record.Broadcast = broadcast == 1
	record.Meta, record.Payload = json.RawMessage(meta), json.RawMessage(payload)
	return record, kept, err
}
