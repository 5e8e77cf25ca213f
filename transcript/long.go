package transcript

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"harness/internal/platform/database"
)

// longEntry is the size (bytes) from which an entry is stored in parts of about that size. Its row then has an empty
// text, which is not valid JSON.
const longEntry = database.PartBytes

// chunkBytes is how much of a text is encoded at once.
const chunkBytes = 32 << 10

// Source locates an entry's texts within the runtime's output if they are too long to hold in a second form. Entries
// read from the store have none.
type Source struct {
	// Content are JSON strings whose concatenated texts are the content; nil means Entry.Content.
	Content []json.RawMessage
	// Details is JSON in chunks, none of which ends within a value; indented by 2 spaces it is the details. Nil means
	// Entry.Details.
	Details [][]byte
}

// Whole returns the entry with all its texts in memory.
func (e Entry) Whole() Entry {
	if e.Source == nil {
		return e
	}
	whole := func(give func(yield func(chunk string))) string {
		var text []byte
		give(func(chunk string) { text = append(text, chunk...) })
		return asText(text)
	}
	source := e.Source
	e.Source = nil
	if source.Content != nil {
		e.Content = whole(source.content)
	}
	if source.Details != nil {
		details := whole(source.details)
		e.Details = &details
	}
	return e
}

func (s *Source) content(yield func(chunk string)) {
	for _, one := range s.Content {
		unquote(one, yield)
	}
}

func (s *Source) details(yield func(chunk string)) { indent(s.Details, yield) }

func (s *Source) size() (size int) {
	for _, one := range s.Content {
		size += len(one)
	}
	for _, one := range s.Details {
		size += len(one)
	}
	return size
}

func (e *Entry) long() bool { return e.Size() > longEntry }

// eachPart yields the entry's JSON (AppendJSON) in parts until yield returns false. No part ends within a character. A
// part is invalid once yield returns.
func (e *Entry) eachPart(yield func(part string) bool) {
	w := partWriter{part: make([]byte, 0, longEntry+8*chunkBytes), yield: yield, open: true}
	w.member(`{"messageId":"`, e.MessageID)
	w.member(`","turnId":"`, e.TurnID)
	w.member(`","role":"`, e.Role)
	w.member(`","type":"`, e.Type)
	w.member(`","content":"`, e.Content)
	if e.Source != nil {
		e.Source.content(w.text)
	}
	switch {
	case e.Source != nil && e.Source.Details != nil:
		w.member(`","details":"`, "")
		e.Source.details(w.text)
	case e.Details != nil:
		w.member(`","details":"`, *e.Details)
	}
	rest := Entry{StartedAt: e.StartedAt, CompletedAt: e.CompletedAt, Status: e.Status}
	w.part = rest.appendTail(append(w.part, '"'))
	w.flush()
}

// partWriter collects JSON and yields it in parts.
type partWriter struct {
	part  []byte
	yield func(part string) bool
	open  bool
}

// member writes a name with the punctuation around it, then a text without its quotes.
func (w *partWriter) member(name, text string) {
	w.part = append(w.part, name...)
	w.text(text)
}

// text writes the JSON of a text, without quotes.
func (w *partWriter) text(text string) {
	for len(text) > 0 && w.open {
		size := min(len(text), chunkBytes)
		for size < len(text) && size > 0 && !utf8.RuneStart(text[size]) {
			size--
		}
		w.part = appendInner(w.part, text[:size])
		text = text[size:]
		if len(w.part) >= longEntry {
			w.flush()
		}
	}
}

func (w *partWriter) flush() {
	if w.open && len(w.part) > 0 {
		w.open = w.yield(asText(w.part))
	}
	w.part = w.part[:0]
}

// partsOf returns the key of an entry's parts.
func partsOf(k key) database.PartKey {
	return database.PartKey{Table: "transcript_parts", Columns: []string{"session", "message"},
		Values: []any{k.session, k.message}}
}

// storeParts writes the parts of an entry whose row values has just written, unless an event has the whole entry.
func storeParts(ctx context.Context, tx database.Tx, k key, entry *Entry) error {
	if !entry.long() {
		return nil
	}
	if err := database.DeleteParts(ctx, tx, partsOf(k)); err != nil {
		return err
	}
	var sum database.Checksum
	err := database.WriteParts(ctx, tx, partsOf(k), func(yield func(part string) bool) {
		entry.eachPart(func(part string) bool {
			sum = sum.Add(part)
			return yield(part)
		})
	})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `update transcript_entries set checksum = $3 where session_id = $1 and message_id = $2`,
		k.session, k.message, sum.Column(0))
	if err != nil {
		return fmt.Errorf("store the checksum of a long entry: %w", err)
	}
	return nil
}

// hasDetails reports whether an entry that is stored in parts has details.
func hasDetails(ctx context.Context, tx database.Tx, k key) (has bool, err error) {
	const name = `","details":"` // within a text, its quotes would be escaped
	before := ""
	err = database.ReadEach(ctx, tx, "look for the details of a transcript entry", func(row database.Row) error {
		var part string
		err := row.Scan(&part)
		has = has || strings.Contains(part, name) || strings.Contains(before+part[:min(len(part), len(name))], name)
		before = part[max(0, len(part)-len(name)):]
		return err
	}, `select part from transcript_parts where session = $1 and message = $2 order by number`, k.session, k.message)
	return has, err
}

// upsertLong is upsert for an entry that is stored in parts, without reading the parts. done is false if it would have
// to read them; it has then written nothing.
func upsertLong(ctx context.Context, tx database.Tx, k key, entry Entry) (merged Entry, done bool, err error) {
	old := Entry{MessageID: entry.MessageID}
	var started, completed sql.NullInt64
	err = tx.QueryRowContext(ctx, `select turn_id, role, type, status, started_at, completed_at from transcript_entries
		where session_id = $1 and message_id = $2`, k.session, k.message).Scan(&old.TurnID, &old.Role, &old.Type, &old.Status,
		&started, &completed)
	if err != nil {
		return entry, false, fmt.Errorf("read transcript entry %q: %w", entry.MessageID, err)
	}
	for _, text := range []*string{&old.TurnID, &old.Role, &old.Type} {
		*text = database.DecodeText(*text)
	}
	if started.Valid {
		old.StartedAt = &started.Int64
	}
	if completed.Valid {
		old.CompletedAt = &completed.Int64
	}
	changes := entry.Source != nil || old.Type != entry.Type || old.Status != entry.Status
	if !changes || old.TurnID != entry.TurnID || old.Status.Final() && !entry.Status.Final() || anchor(entry) != "" {
		return entry, false, nil
	}
	if entry.Details == nil && (entry.Source == nil || entry.Source.Details == nil) {
		if keeps, err := hasDetails(ctx, tx, k); err != nil || keeps {
			return entry, false, err
		}
	}
	merged = Merge(old, entry)
	if _, err = tx.ExecContext(ctx, updateRow, values(k.session, &merged, 0)...); err != nil {
		return entry, false, fmt.Errorf("update transcript entry %q: %w", entry.MessageID, err)
	}
	if !merged.long() {
		return merged, true, database.DeleteParts(ctx, tx, partsOf(k))
	}
	return merged, true, storeParts(ctx, tx, k, &merged)
}

// sweepParts deletes the parts of a session's deleted entries.
func sweepParts(ctx context.Context, tx database.Tx, session string) error {
	_, err := tx.ExecContext(ctx,
		`delete from transcript_parts where session = $1 and not exists (select 1 from transcript_entries
		where session_id = transcript_parts.session and message_id = transcript_parts.message)`, session)
	if err != nil {
		return fmt.Errorf("delete the parts of entries that are gone: %w", err)
	}
	return nil
}

// KeepPruned must be called by the journal before it deletes the events below a position. It copies entries that only
// those events have into their rows, and long ones into parts.
func (Store) KeepPruned(ctx context.Context, tx database.Tx, below int64) error {
	// Delete the parts of the entry's earlier content instead of overwriting them: there may be more of them.
	_, err := tx.ExecContext(ctx, `delete from transcript_parts where exists (select 1 from transcript_entries e
		join journal_events j on j.pos = e.event_pos and j.session_id = e.session_id and j.item_id = e.message_id
		where e.session_id = transcript_parts.session and e.message_id = transcript_parts.message and e.event_pos < $1)`,
		below)
	if err != nil {
		return fmt.Errorf("delete what entries said before the events below %d: %w", below, err)
	}
	_, err = tx.ExecContext(ctx, `insert into transcript_parts (session, message, number, part)
		select session_id, message_id, number, part from journal_parts join (select j.pos, e.session_id, e.message_id from journal_events j
			join transcript_entries e on e.session_id = j.session_id and e.message_id = j.item_id and e.event_pos = j.pos
			where j.pos < $1 and j.payload = '') as v on v.pos = journal_parts.pos
		where journal_parts.pos < $1`, below)
	if err == nil {
		_, err = tx.ExecContext(ctx, `update transcript_entries set encoded = v.payload, checksum = v.checksum, event_pos = null,
				author = v.actor
			from (select pos, session_id, item_id, payload, checksum, actor from journal_events where pos < $1) as v
			where transcript_entries.session_id = v.session_id and transcript_entries.message_id = v.item_id
			and transcript_entries.event_pos = v.pos`, below)
	}
	if err != nil {
		return fmt.Errorf("keep the entries of events below %d: %w", below, err)
	}
	return nil
}
