package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"unsafe"

	"harness/internal/platform/database"
)

// append numbers the records, writes them, and signs the head with the batch's name. SQLite does so at once. Postgres
// does so in the transaction's last statement, and signs only for a batch without events.
func (j *Journal) append(ctx context.Context, tx database.Tx, name string, pos int64, records []Record) (
	last database.Last, err error) {
	counts := map[string]int64{}
	for i := range records {
		pos++
		records[i].Pos = pos
		counts[records[i].SessionID]++
		records[i].Seq = counts[records[i].SessionID]
	}
	if err := insertParts(ctx, tx, records); err != nil {
		return last, err
	}
	if j.db.Engine() == database.Postgres {
		return j.appendAtOnce(name, pos, records, counts), nil
	}
	sequences, err := reserveSequences(ctx, tx, counts)
	if err != nil {
		return last, err
	}
	for i := range records {
		records[i].Seq += sequences[records[i].SessionID] - counts[records[i].SessionID]
	}
	if err := insertEvents.Exec(ctx, tx, parameters(records, true)); err != nil {
		return last, fmt.Errorf("insert %d journal events: %w", len(records), err)
	}
	if _, err := tx.ExecContext(ctx, `update journal_head set pos = $1, batch = $2 where id = 1`, pos, signature(name)); err != nil {
		return last, fmt.Errorf("move the journal head: %w", err)
	}
	return last, nil
}

// reserveSequences advances each session's counter and returns its value.
func reserveSequences(ctx context.Context, tx database.Tx, counts map[string]int64) (map[string]int64, error) {
	last := make(map[string]int64, len(counts))
	err := moveSequences.Query(ctx, tx, counters(counts), func(rows *sql.Rows) error {
		session, seq, err := scanSequence(rows)
		last[session] = seq
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("number the events of %d sessions: %w", len(counts), err)
	}
	return last, nil
}

// counters returns the rows of counts, ordered by session so that two writers cannot deadlock.
func counters(counts map[string]int64) []any {
	sessions := make([]string, 0, len(counts))
	for session := range counts {
		sessions = append(sessions, session)
	}
	sort.Strings(sessions)
	args := make([]any, 0, 2*len(sessions))
	for _, session := range sessions {
		args = append(args, session, counts[session])
	}
	return args
}

func scanSequence(row interface{ Scan(dest ...any) error }) (session string, seq int64, err error) {
	if err := row.Scan(&session, &seq); err != nil {
		return "", 0, fmt.Errorf("read a sequence number: %w", err)
	}
	return session, seq, nil
}

// appendAtOnce does the work of append in one statement, for Postgres. Before it has run, the sequence numbers of
// records are those within the batch.
func (j *Journal) appendAtOnce(name string, pos int64, records []Record, counts map[string]int64) database.Last {
	of := make(map[string][]*Record, len(counts))
	for i := range records {
		session := records[i].SessionID
		records[i].Seq -= counts[session]
		of[session] = append(of[session], &records[i])
	}
	signed := ""
	if len(records) == 0 {
		signed = signature(name) // a batch with events is found by its events
	}
	args := append([]any{pos, signed, regexp.QuoteMeta(j.batchPrefix) + `[0-9]+;`}, database.Columns(sequenceKinds, counters(counts))...)
	args = append(args, database.Columns(eventKinds, parameters(records, false))...)
	return database.Last{Query: appendStatement, Args: args, Row: func(row interface{ Scan(dest ...any) error }) error {
		session, last, err := scanSequence(row)
		for _, r := range of[session] {
			r.Seq += last
		}
		return err
	}}
}

var (
	sequenceKinds = []database.Kind{database.Text, database.Int}
	eventKinds    = []database.Kind{database.Int, database.Int, database.Int, database.Text, database.Text, database.Text,
		database.Text, database.Int, database.Text, database.Text, database.Int, database.Text, database.Text, database.Text,
		database.Text}

	// "where true" keeps the parser from reading "on conflict" as a join condition.
	moveSequences = database.NewBulk(
		`insert into journal_sequences (session_id, seq) select * from ({rows}) as v where true
		on conflict (session_id) do update set seq = journal_sequences.seq + excluded.seq returning session_id, seq`,
		sequenceKinds...)
	// SQLite only (appendAtOnce). A failed insert ends the batch, so there is no need to note how to undo its
	// first rows.
	insertEvents = database.NewBulk(`insert or fail into journal_events (`+rows+`) {rows}`,
		append(eventKinds[:len(eventKinds):len(eventKinds)], database.Int)...)
)

// appendStatement moves the head to $1. With a signature $2, which only a batch without events has, it counts the batch
// and adds the signature to the last ones of other writers. $3 matches this writer's earlier signatures, which it
// removes. It advances the counters of the sessions $4 by $5, and inserts events numbered from there.
const appendStatement = `with
	head as (update journal_head set pos = $1, eventless = case when $2 = '' then eventless else eventless + 1 end,
		batch = case when $2 = '' then batch else left($2 || regexp_replace(batch, $3, ''), 1500) end where id = 1),
	counters as (insert into journal_sequences (session_id, seq) select * from unnest($4::text[], $5::bigint[])
		on conflict (session_id) do update set seq = journal_sequences.seq + excluded.seq returning session_id, seq),
	events as (insert into journal_events (` + columns + `)
		select v.pos, counters.seq + v.seq, schema_version, v.session_id, turn_id, item_id, type, time, source, actor,
			broadcast, trace_id, span_id, meta, payload
		from unnest($6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[],
			$14::text[], $15::text[],
			$16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[]) as v (` + columns + `)
		join counters on counters.session_id = v.session_id)
	select session_id, seq from counters`

// parameters returns the rows of records, each with its checksum if checked.
func parameters(records []Record, checked bool) []any {
	args := make([]any, 0, len(records)*(len(eventKinds)+1))
	for i := range records {
		r := &records[i]
		payload := text(r.Payload)
		if inParts(r.Payload) {
			payload = ""
		}
		args = append(args, r.Pos, r.Seq, int64(r.SchemaVersion), r.SessionID, r.TurnID, r.ItemID, r.Type, r.Time, r.Source,
			r.Actor, boolInt(r.Broadcast), r.TraceID, r.SpanID, text(r.Meta), payload)
		if checked {
			args = append(args, r.checksum())
		}
	}
	return args
}

// text returns the content of an event without a copy: it must not change afterwards.
func text(raw json.RawMessage) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
