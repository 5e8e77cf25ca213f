package transcript

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"harness/database"
)

// Put is one upsert among several.
type Put struct {
	SessionID string
	Entry     Entry
}

// rowsPerStatement bounds the rows of one statement: enough to make round trips rare, few enough for a driver that binds in quadratic time.
const rowsPerStatement = 32

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
	for rest := order; len(rest) > 0; {
		chunk := rest[:min(len(rest), rowsPerStatement)]
		rest = rest[len(chunk):]
		if err := readStates(ctx, tx, chunk, states); err != nil {
			return err
		}
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
	if err := write(ctx, tx, inserts, states, insertStatement, true); err != nil {
		return fmt.Errorf("insert %d transcript entries: %w", len(inserts), err)
	}
	if err := write(ctx, tx, updates, states, updateStatement, false); err != nil {
		return fmt.Errorf("update %d transcript entries: %w", len(updates), err)
	}
	return nil
}

func readStates(ctx context.Context, tx database.Tx, keys []key, states map[key]*state) error {
	args := make([]any, 0, 2*len(keys))
	for _, k := range keys {
		args = append(args, k.session, k.message)
	}
	rows, err := tx.QueryContext(ctx, `with v (s, m) as (values `+placeholders(len(keys), "$", "$")+`)
		select v.s, v.m, coalesce((select o.ordinal from transcript_entries o where o.session_id = v.s order by o.ordinal desc limit 1), 0),
			coalesce(e.message_id, v.m), e.turn_id, e.role, e.type, e.content, e.details,
			e.status, e.started_at, e.completed_at
		from v left join transcript_entries e on e.session_id = v.s and e.message_id = v.m`, args...)
	if err != nil {
		return fmt.Errorf("read %d transcript entries: %w", len(keys), err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var (
			k    key
			last int64
		)
		entry, err := scanEntry(optional{rows, []any{&k.session, &k.message, &last}})
		if err != nil {
			return fmt.Errorf("read transcript entries: %w", err)
		}
		found := entry.Status != ""
		*states[k] = state{entry: entry, stored: found, known: found, lastStored: last}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read transcript entries: %w", err)
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

func write(ctx context.Context, tx database.Tx, keys []key, states map[key]*state, statement func(rows int) string, numbered bool) error {
	for len(keys) > 0 {
		chunk := keys[:min(len(keys), rowsPerStatement)]
		keys = keys[len(chunk):]
		args := make([]any, 0, 11*len(chunk))
		for _, k := range chunk {
			args = append(args, values(k.session, states[k].entry)...)
			if numbered {
				args = append(args, states[k].ordinal)
			}
		}
		if _, err := tx.ExecContext(ctx, statement(len(chunk)), args...); err != nil {
			return err
		}
	}
	return nil
}

func insertStatement(rows int) string {
	return `insert into transcript_entries
		(session_id, message_id, turn_id, role, type, content, details, status, started_at, completed_at, ordinal)
		values ` + placeholders(rows, "$", "$", "$", "$", "$", "$", "$", "$", "$", "$", "$")
}

func updateStatement(rows int) string {
	return `with v (s, m, turn_id, role, type, content, details, status, started_at, completed_at) as (values ` +
		placeholders(rows, "$", "$", "$", "$", "$", "$", "$", "$", "cast($ as bigint)", "cast($ as bigint)") + `)
		update transcript_entries set turn_id = v.turn_id, role = v.role, type = v.type, content = v.content, details = v.details,
			status = v.status, started_at = v.started_at, completed_at = v.completed_at
		from v where transcript_entries.session_id = v.s and transcript_entries.message_id = v.m`
}

// placeholders is (..., ...), (..., ...): one group per row, the dollar of each column numbered through.
func placeholders(rows int, columns ...string) string {
	var b strings.Builder
	n := 0
	for row := range rows {
		if row > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for i, column := range columns {
			if i > 0 {
				b.WriteString(", ")
			}
			before, after, _ := strings.Cut(column, "$")
			n++
			b.WriteString(before)
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			b.WriteString(after)
		}
		b.WriteByte(')')
	}
	return b.String()
}
