package transcript

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
	"unsafe"

	"harness/database"
)

// longEntry is from which size (bytes) an entry is stored in parts of about that size; an empty text, which is no JSON, stands in its row then.
// To bind a long text, and to build a row of it, takes several times its size of memory, on either engine.
const longEntry = 1 << 20

// pieceBytes is how much of a text is encoded at a time.
const pieceBytes = 32 << 10

// Source is where texts of an entry stand in what a runtime said, when they are too long to be held in another form as well. Entries that
// are read have none.
type Source struct {
	// Details is JSON that is the details when it is indented by 2 spaces; nil for Entry.Details.
	Details json.RawMessage
}

// Whole is the entry with all its texts in memory.
func (e Entry) Whole() Entry {
	if e.Source == nil {
		return e
	}
	var details []byte
	indent(e.Source.Details, func(piece string) { details = append(details, piece...) })
	text := unsafe.String(unsafe.SliceData(details), len(details)) // no copy: nobody changes it
	e.Details, e.Source = &text, nil
	return e
}

func (e *Entry) long() bool { return e.Size() > longEntry }

// eachPart gives the entry's JSON (AppendJSON) in parts, of which none ends within a character, until yield returns false. A part is gone when
// yield returns.
func (e *Entry) eachPart(yield func(part string) bool) {
	w := partWriter{part: make([]byte, 0, longEntry+8*pieceBytes), yield: yield, open: true}
	w.member(`{"messageId":"`, e.MessageID)
	w.member(`","turnId":"`, e.TurnID)
	w.member(`","role":"`, e.Role)
	w.member(`","type":"`, e.Type)
	w.member(`","content":"`, e.Content)
	switch {
	case e.Source != nil:
		w.member(`","details":"`, "")
		indent(e.Source.Details, w.text)
	case e.Details != nil:
		w.member(`","details":"`, *e.Details)
	}
	rest := Entry{StartedAt: e.StartedAt, CompletedAt: e.CompletedAt, Status: e.Status}
	w.part = rest.appendTail(append(w.part, '"'))
	w.flush()
}

// partWriter gathers JSON and gives it away in parts.
type partWriter struct {
	part  []byte
	yield func(part string) bool
	open  bool
}

// member writes a name with what stands between it and its neighbours, then a text without its quotes.
func (w *partWriter) member(name, text string) {
	w.part = append(w.part, name...)
	w.text(text)
}

// text writes JSON of a text, without quotes.
func (w *partWriter) text(text string) {
	for len(text) > 0 && w.open {
		size := min(len(text), pieceBytes)
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

// storeParts writes the parts of entries whose rows were written by values without an event that tells of them.
func storeParts(ctx context.Context, tx database.Tx, k key, entry *Entry) error {
	if !entry.long() {
		return nil
	}
	if err := dropParts(ctx, tx, k); err != nil {
		return err
	}
	err := database.InsertEach(ctx, tx, "transcript_parts", []string{"session", "message", "number", "part"}, func(yield func([]any) bool) {
		number := int64(0)
		entry.eachPart(func(part string) bool {
			number++
			return yield([]any{k.session, k.message, number, part})
		})
	})
	if err != nil {
		return fmt.Errorf("insert the parts of transcript entry %q: %w", entry.MessageID, err)
	}
	return nil
}

// upsertLong is upsert of an entry with a Source, without what is stored of it being read whole. done is false when that is needed, and nothing
// is written then.
func upsertLong(ctx context.Context, tx database.Tx, k key, entry Entry, item bool) (done bool, err error) {
	old := Entry{MessageID: entry.MessageID}
	var started, completed sql.NullInt64
	err = tx.QueryRowContext(ctx, `select turn_id, status, started_at, completed_at from transcript_entries where session_id = $1 and message_id = $2`,
		k.session, k.message).Scan(&old.TurnID, &old.Status, &started, &completed)
	if errors.Is(err, sql.ErrNoRows) {
		_, _, err = insert(ctx, tx, k, settleTimes(entry), item)
		return true, err
	}
	if err != nil {
		return false, fmt.Errorf("read transcript entry %q: %w", entry.MessageID, err)
	}
	old.TurnID = database.DecodeText(old.TurnID)
	if started.Valid {
		old.StartedAt = &started.Int64
	}
	if completed.Valid {
		old.CompletedAt = &completed.Int64
	}
	if synthetic(entry.MessageID) || old.TurnID != entry.TurnID || old.Status.Final() && !entry.Status.Final() {
		return false, nil
	}
	merged := Merge(old, entry)
	if _, err = tx.ExecContext(ctx, updateRow, values(k.session, &merged, 0)...); err != nil {
		return false, fmt.Errorf("update transcript entry %q: %w", entry.MessageID, err)
	}
	if !merged.long() {
		return true, dropParts(ctx, tx, k)
	}
	return true, storeParts(ctx, tx, k, &merged)
}

// dropParts deletes the parts of an entry.
func dropParts(ctx context.Context, tx database.Tx, k key) error {
	if _, err := tx.ExecContext(ctx, `delete from transcript_parts where session = $1 and message = $2`, k.session, k.message); err != nil {
		return fmt.Errorf("delete the parts of a transcript entry: %w", err)
	}
	return nil
}

// sweepParts deletes the parts of a session's entries that are gone.
func sweepParts(ctx context.Context, tx database.Tx, session string) error {
	_, err := tx.ExecContext(ctx, `delete from transcript_parts where session = $1 and not exists (select 1 from transcript_entries
		where session_id = transcript_parts.session and message_id = transcript_parts.message)`, session)
	if err != nil {
		return fmt.Errorf("delete the parts of entries that are gone: %w", err)
	}
	return nil
}

// KeepPruned is for the journal to call before it deletes the events below a position: what only they hold of an entry goes to its row, and
// the parts of a long one to its parts.
func (Store) KeepPruned(ctx context.Context, tx database.Tx, below int64) error {
	_, err := tx.ExecContext(ctx, `insert into transcript_parts (session, message, number, part)
		select session_id, message_id, number, part from journal_parts join (select j.pos, e.session_id, e.message_id from journal_events j
			join transcript_entries e on e.session_id = j.session_id and e.message_id = j.item_id and e.event_pos = j.pos
			where j.pos < $1 and j.payload = '') as v on v.pos = journal_parts.pos
		where journal_parts.pos < $1
		on conflict (session, message, number) do update set part = excluded.part`, below)
	if err == nil {
		_, err = tx.ExecContext(ctx, `update transcript_entries set encoded = v.payload, event_pos = null
			from (select pos, session_id, item_id, payload from journal_events where pos < $1) as v
			where transcript_entries.session_id = v.session_id and transcript_entries.message_id = v.item_id
			and transcript_entries.event_pos = v.pos`, below)
	}
	if err != nil {
		return fmt.Errorf("keep the entries of events below %d: %w", below, err)
	}
	return nil
}
