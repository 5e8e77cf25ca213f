package transcript

import (
	"context"
	"database/sql"
	"fmt"

	"harness/database"
)

// Put is one upsert among several.
type Put struct {
	SessionID string
	Entry     Entry
}

// key names a row as it is stored.
type key struct{ session, message string }

// state is what a row holds, and how it came to it.
type state struct {
	entry      Entry
	ordinal    int64
	stored     bool // there was a row before
	known      bool // there is an entry, stored or put
	changed    bool
	lastStored int64 // of the session
}

// UpsertAll is Upsert of each in turn, in a few statements for all of them: what is stored afterwards is the same, at a fraction of the
// statements, which are round trips on Postgres.
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
	if err := read(ctx, tx, order, states); err != nil {
		return err
	}
	last := map[string]int64{}
	for i, put := range puts {
		s := states[keys[i]]
		if s.known {
			merged := Merge(s.entry, put.Entry)
			s.changed = s.changed || !merged.Equal(s.entry)
			s.entry = merged
			continue
		}
		session := keys[i].session
		if _, numbered := last[session]; !numbered {
			last[session] = s.lastStored
		}
		last[session]++
		s.entry, s.ordinal, s.known = settleTimes(put.Entry), last[session], true
	}
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

func read(ctx context.Context, tx database.Tx, keys []key, states map[key]*state) error {
	args := make([]any, 0, 2*len(keys))
	for _, k := range keys {
		args = append(args, k.session, k.message)
	}
	err := readStates.Query(ctx, tx, args, func(rows *sql.Rows) error {
		var (
			k    key
			last int64
		)
		entry, err := scanEntry(optional{rows, []any{&k.session, &k.message, &last}})
		if err != nil {
			return err
		}
		found := entry.Status != ""
		*states[k] = state{entry: entry, stored: found, known: found, lastStored: last}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read %d transcript entries: %w", len(keys), err)
	}
	return nil
}

// optional scans the columns of an entry that may be missing (its texts stay empty) behind some others.
type optional struct {
	scanner
	before []any
}

// Scan implements scanner.
func (o optional) Scan(dest ...any) error {
	texts := make([]sql.NullString, len(dest))
	into := append([]any{}, o.before...)
	for i := range dest {
		switch dest[i].(type) {
		case *string, *Status:
			into = append(into, &texts[i])
		default:
			into = append(into, dest[i])
		}
	}
	if err := o.scanner.Scan(into...); err != nil {
		return err
	}
	for i := range dest {
		switch target := dest[i].(type) {
		case *string:
			*target = texts[i].String
		case *Status:
			*target = Status(texts[i].String)
		}
	}
	return nil
}

func write(ctx context.Context, tx database.Tx, keys []key, states map[key]*state, statement *database.Bulk, numbered bool) error {
	args := make([]any, 0, 11*len(keys))
	for _, k := range keys {
		args = append(args, values(k.session, states[k].entry)...)
		if numbered {
			args = append(args, states[k].ordinal)
		}
	}
	return statement.Exec(ctx, tx, args)
}

var (
	readStates = database.NewBulk(`with v (s, m) as ({rows})
		select v.s, v.m, coalesce((select o.ordinal from transcript_entries o where o.session_id = v.s order by o.ordinal desc limit 1), 0),
			coalesce(e.message_id, v.m), e.turn_id, e.role, e.type, e.content, e.details,
			e.status, e.started_at, e.completed_at
		from v left join transcript_entries e on e.session_id = v.s and e.message_id = v.m`, database.Text, database.Text)
	insertEntries = database.NewBulk(`insert into transcript_entries
		(session_id, message_id, turn_id, role, type, content, details, status, started_at, completed_at, ordinal) {rows}`,
		database.Text, database.Text, database.Text, database.Text, database.Text, database.Text, database.Text, database.Text, database.Int, database.Int, database.Int)
	updateEntries = database.NewBulk(`with v (s, m, turn_id, role, type, content, details, status, started_at, completed_at) as ({rows})
		update transcript_entries set turn_id = v.turn_id, role = v.role, type = v.type, content = v.content, details = v.details,
			status = v.status, started_at = v.started_at, completed_at = v.completed_at
		from v where transcript_entries.session_id = v.s and transcript_entries.message_id = v.m`,
		database.Text, database.Text, database.Text, database.Text, database.Text, database.Text, database.Text, database.Text, database.Int, database.Int)
)
