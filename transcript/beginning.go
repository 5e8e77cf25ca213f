package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// startColumns are the content column of older rows, and otherwise the first part of what scanEntry decodes.
const startColumns = `content, coalesce(case when encoded = '' then (select part from transcript_parts
	where session = session_id and message = message_id order by number limit 1) else encoded end, ` +
	journal.PayloadStartAtEventPos + `)`

// Beginning reads at most the given number of bytes from the start of an entry's content. The cost does not grow with
// the entry. It returns false if the entry does not exist.
func (Store) Beginning(ctx context.Context, q database.Querier, sessionID, messageID string, bytes int) (string, bool, error) {
	var (
		content string
		stored  sql.NullString
	)
	err := q.QueryRowContext(ctx, `select `+startColumns+` from transcript_entries where session_id = $1 and message_id = $2`,
		database.EncodeText(sessionID), database.EncodeText(messageID)).Scan(&content, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read the beginning of entry %q of session %s: %w", messageID, sessionID, err)
	}
	content = database.DecodeText(content)
	if stored.Valid {
		if content, err = contentStart(stored.String, bytes); err != nil {
			return "", false, err
		}
	}
	return strings.ToValidUTF8(content[:min(len(content), bytes)], ""), true, nil
}

// escapeBytes is the maximum length in JSON of one byte of a text.
const escapeBytes = 6

// contentStart returns the start of an entry's content from JSON that may be cut off after it.
func contentStart(stored string, bytes int) (string, error) {
	_, entry, found := strings.Cut(stored, `,"entry":`)
	if !found || !strings.HasPrefix(stored, `{"threadId":`) {
		entry = stored
	}
	d := decoder{rest: entry, ok: true}
	for _, name := range [...]string{`{"messageId":"`, `,"turnId":"`, `,"role":"`, `,"type":"`} {
		d.text(name)
	}
	const name = `,"content":"`
	if text, found := strings.CutPrefix(d.rest, name); found {
		d.rest = name + wholeEscapes(text[:min(len(text), escapeBytes*bytes)]) + `"`
	}
	content := d.text(name)
	if !d.ok {
		return "", fmt.Errorf("what is stored is no entry: %.100q", entry)
	}
	return content, nil
}

// wholeEscapes removes an incomplete escape at the end of a JSON text that was cut off.
func wholeEscapes(text string) string {
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '\\')
		if next < 0 {
			return text
		}
		at += next
		size := 2
		if strings.HasPrefix(text[at+1:], "u") {
			size = escapeBytes
		}
		if at+size > len(text) {
			return text[:at]
		}
		at += size
	}
}
