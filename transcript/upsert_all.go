package transcript

import (
	"context"
	"database/sql"
	"fmt"

	"harness/internal/platform/database"
)

// Put is one upsert among several.
type Put struct {
	SessionID string
	Entry     Entry
	// Pos is the position of the event that has exactly this entry (AppendUpdate); 0 if there is none.
	Pos int64
}

// eventPos returns Pos if the event has the entry exactly as stored.
func (p *Put) eventPos(stored *Entry) int64 {
	if !stored.Equal(p.Entry) || !encodable(stored) {
		return 0
	}
	return p.Pos
}

// key is the stored key of a row.
type key struct{ session, message string }

// state is the content of a row, and how it changed.
type state struct {
	entry   Entry
	pos     int64 // of an event with the whole entry, 0 for none
	ordinal int64
	place   int64
	stored  bool // the row existed before
	known   bool // the entry exists, stored or put
	changed bool
}

// UpsertAll is Upsert of each entry in order, in a few statements for all of them. The stored result is the same, with
// far fewer statements, each of which is a round trip on Postgres.
func (Store) UpsertAll(ctx context.Context, tx database.Tx, puts []Put) error {
	states := make(map[key]*state, len(puts))
	order := make([]key, 0, len(puts))
	keys := make([]key, len(puts))
	for i, put := range puts {
		keys[i] = key{database.EncodeText(put.SessionID), database.EncodeText(put.Entry.MessageID)}
		if states[keys[i]] == nil {
			states[keys[i]] = &state{}
			order = append(order, keys[i])
		}
	}
	places := newPlacer(tx)
	last, err := read(ctx, tx, puts, keys, states, places)
	if err != nil {
		return err
	}
	if err := places.load(ctx, turnsOf(puts, keys, states)); err != nil {
		return err
	}
	for i, put := range puts {
		s := states[keys[i]]
		if s.known {
			merged := Merge(s.entry, put.Entry)
			if moves(s.entry, merged) {
				return upsertEach(ctx, tx, puts)
			}
			s.changed = s.changed || !merged.Equal(s.entry)
			s.entry, s.pos = merged, put.eventPos(&merged)
			continue
		}
		session := keys[i].session
		last[session]++
		s.entry, s.ordinal, s.known = settleTimes(put.Entry), last[session], true
		s.pos = put.eventPos(&s.entry)
		if synthetic(s.entry.MessageID) {
			return upsertEach(ctx, tx, puts)
		}
		if s.place, err = places.place(ctx, keys[i], &s.entry, s.ordinal, false); err != nil {
			return err
		}
	}
	if err := places.flush(ctx); err != nil {
		return err
	}
	return writeAll(ctx, tx, order, states)
}

// writeAll inserts the new entries, and updates the changed ones.
func writeAll(ctx context.Context, tx database.Tx, order []key, states map[key]*state) error {
	var inserts, updates []key
	for _, k := range order {
		switch {
		case !states[k].stored:
			inserts = append(inserts, k)
		case states[k].changed:
			updates = append(updates, k)
		}
	}
	if err := write(ctx, tx, inserts, states, insertEntries, true); err != nil {
		return fmt.Errorf("insert %d transcript entries: %w", len(inserts), err)
	}
	if err := write(ctx, tx, updates, states, updateEntries, false); err != nil {
		return fmt.Errorf("update %d transcript entries: %w", len(updates), err)
	}
	return nil
}

// upsertEach handles upserts where one depends on the places of earlier ones. Nothing is written yet.
func upsertEach(ctx context.Context, tx database.Tx, puts []Put) error {
	for _, put := range puts {
		if _, _, err := upsert(ctx, tx, put.SessionID, put.Entry, false); err != nil {
			return err
		}
	}
	return nil
}

// turnsOf returns the turns that new entries belong to.
func turnsOf(puts []Put, keys []key, states map[key]*state) []turnKey {
	var turns []turnKey
	for i, put := range puts {
		if !states[keys[i]].stored {
			turns = append(turns, turnKey{keys[i].session, database.EncodeText(put.Entry.TurnID)})
		}
	}
	return turns
}

// read fills in the stored entries, and the blocks of turns that the statement returns. It returns the last ordinal of
// each session that gets a new entry.
func read(ctx context.Context, tx database.Tx, puts []Put, keys []key, states map[key]*state, places *placer) (
	last map[string]int64, err error) {
	args := make([]any, 0, 3*len(puts))
	for i, k := range keys {
		args = append(args, k.session, k.message, database.EncodeText(puts[i].Entry.TurnID))
	}
	last = make(map[string]int64, 1)
	err = readStates.Query(ctx, tx, args, func(rows *sql.Rows) error {
		var (
			session             string
			ordinal, number, at sql.NullInt64
		)
		row := optional{rows, []any{&session, &ordinal, &number, &at}}
		entry, _, err := scanStored(ctx, &row) // replace a damaged row
		switch {
		case err != nil:
			return err
		case ordinal.Valid:
			last[session] = ordinal.Int64
		case number.Valid:
			places.blocks[turnKey{session, database.EncodeText(entry.TurnID)}] = &block{number: number.Int64, last: at.Int64}
		default:
			*states[key{session, database.EncodeText(entry.MessageID)}] = state{entry: entry, stored: true, known: true}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %d transcript entries: %w", len(keys), err)
	}
	for _, k := range keys {
		if _, known := last[k.session]; known || states[k].stored {
			continue
		}
		if last[k.session], err = lastOrdinal(ctx, tx, k.session); err != nil {
			return nil, fmt.Errorf("read the length of a transcript: %w", err)
		}
	}
	return last, nil
}

// optional scans some columns before the columns of an entry; all of these may be NULL.
type optional struct {
	database.Row
	before []any
}

// Scan implements database.Row.
func (o *optional) Scan(dest ...any) error {
	into := append(make([]any, 0, len(o.before)+len(dest)), o.before...)
	for i := range dest {
		switch target := dest[i].(type) {
		case *string:
			into = append(into, (*text)(target))
		case *Status:
			into = append(into, (*text)(target))
		default:
			into = append(into, target)
		}
	}
	return o.Row.Scan(into...)
}

// text is a string that is "" when the column is NULL.
type text string

// Scan implements sql.Scanner.
func (t *text) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*t = ""
	case string:
		*t = text(value)
	case []byte:
		*t = text(value)
	default:
		return fmt.Errorf("%T is no text", value)
	}
	return nil
}

func write(ctx context.Context, tx database.Tx, keys []key, states map[key]*state, statement *database.Bulk,
	numbered bool) error {
	args := make([]any, 0, (len(rowKinds)+2)*len(keys))
	var long []key
	for _, k := range keys {
		args = append(args, values(k.session, &states[k].entry, states[k].pos)...)
		if states[k].pos == 0 && states[k].entry.long() {
			long = append(long, k)
		}
		if numbered {
			args = append(args, states[k].ordinal, states[k].place)
		}
	}
	if err := statement.Exec(ctx, tx, args); err != nil {
		return err
	}
	for _, k := range long {
		if err := storeParts(ctx, tx, k, &states[k].entry); err != nil {
			return err
		}
	}
	return nil
}

var (
	// Before Postgres has statistics of a table, it prefers a scan to a look-up of some rows. The form of this look-up
	// leaves it no choice, and neither does the conflict clause below.
	readStates = database.NewBulks(
		foundText+` v join transcript_entries e on e.session_id = v.s and e.message_id = v.m`,
		foundText+foundByLateral+lastText+blocksOfTurns,
		database.Text, database.Text, database.Text)
	// Every caller stops after a failed insert, so SQLite need not record how to undo the first rows.
	insertEntries = database.NewBulks(`insert or fail `+insertText, `insert `+insertText,
		append(rowKinds[:len(rowKinds):len(rowKinds)], database.Int, database.Int)...)
	updateEntries = database.NewBulks(
		`with v (s, m, turn_id, role, type, status, started_at, completed_at, encoded, event_pos, checksum) as ({rows})
		update transcript_entries set turn_id = v.turn_id, role = v.role, type = v.type, status = v.status, started_at = v.started_at,
			completed_at = v.completed_at, encoded = v.encoded, event_pos = v.event_pos, checksum = v.checksum, content = '', details = null
		from v where transcript_entries.session_id = v.s and transcript_entries.message_id = v.m`,
		`insert into transcript_entries (`+rowColumns+`, ordinal, content) select v.*, 0, '' from ({rows}) as v
		on conflict (session_id, message_id) do update set turn_id = excluded.turn_id, role = excluded.role, type = excluded.type,
			status = excluded.status, started_at = excluded.started_at, completed_at = excluded.completed_at, encoded = excluded.encoded,
			event_pos = excluded.event_pos, checksum = excluded.checksum, content = '', details = null`,
		rowKinds...)
)

// foundText returns the stored entry, session and turn for each row. To save round trips to Postgres, each session
// adds a row with its last ordinal (lastText). Each turn adds one with its block, 0 for none, and the place of its
// last entry (blocksOfTurns). SQLite would build a temporary table to read the rows more than once, which is slower
// than separate statements.
const (
	insertText = `into transcript_entries (` + rowColumns + `, ordinal, place, content) select v.*, '' from ({rows}) as v`

	foundText = `with v (s, m, t) as ({rows})
		select e.session_id, cast(null as bigint) as last, cast(null as bigint) as number, cast(null as bigint) as at,
			e.message_id, e.turn_id, e.role,
			e.type, e.content, e.details, e.status, e.started_at, e.completed_at, ` + StoredEntry + `, e.event_pos, ` + storedChecksum + ` from`
	foundByLateral = ` v cross join lateral (select * from transcript_entries t where t.session_id = v.s and t.message_id = v.m limit 1) as e`

	lastText = `
		union all
		select d.s, coalesce((select o.ordinal from transcript_entries o where o.session_id = d.s order by o.ordinal desc
			limit 1), 0), null, null,
			null, null, null, null, null, null, null, null, null, null, null, null
		from (select distinct s from v) as d`
)

var blocksOfTurns = `
		union all
		select d.s, null, coalesce(b.block, 0), ` + lastOfBlock("d.s") +
	`, null, d.t, null, null, null, null, null, null, null, null, null, null
		from (select distinct s, t from v) as d
		left join lateral (select * from transcript_turns t where t.session_id = d.s and t.turn_id = d.t limit 1) as b on true`
