package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"harness/internal/platform/database"
)

// Text is a range of an entry's content.
type Text struct {
	Text string
	// Next is where the content goes on, in bytes from its start, 0 at its end.
	Next int64
}

// Text reads at most the given number of bytes (at least 4) of an entry's content, from an offset. It keeps one part of
// a long entry in memory at a time. It returns false if the entry does not exist, or was rolled back.
func (s Store) Text(ctx context.Context, q database.Querier, sessionID, messageID string, offset int64, bytes int) (Text, bool, error) {
	session, message := database.EncodeText(sessionID), database.EncodeText(messageID)
	var (
		entryParts, inEvents bool
		pos                  sql.NullInt64
	)
	err := q.QueryRowContext(ctx, `select coalesce(encoded = '', false), event_pos, encoded is null and
			coalesce((select payload = '' from journal_events where pos = event_pos), false)
		from transcript_entries where session_id = $1 and message_id = $2`+keptTurns, session, message).
		Scan(&entryParts, &pos, &inEvents)
	if errors.Is(err, sql.ErrNoRows) {
		return Text{}, false, nil
	}
	if err != nil {
		return Text{}, false, fmt.Errorf("read where entry %q of session %s is: %w", messageID, sessionID, err)
	}
	r := textRange{skip: offset, most: bytes}
	query, args := `select part from transcript_parts where session = $1 and message = $2 order by number`, []any{session, message}
	switch {
	case inEvents:
		query, args = `select part from journal_parts where pos = $1 order by number`, []any{pos.Int64}
	case !entryParts:
		entry, found, err := s.Find(ctx, q, sessionID, messageID)
		if err != nil || !found {
			return Text{}, found, err
		}
		r.add(entry.Content)
		return r.text(offset), true, nil
	}
	err = database.ReadEach(ctx, q, fmt.Sprintf("read a text of session %s", sessionID), func(row database.Row) error {
		var part sql.RawBytes
		if err := row.Scan(&part); err != nil {
			return err
		}
		if !r.read(asText(part)) {
			return errEnough
		}
		return nil
	}, query, args...)
	if err != nil && !errors.Is(err, errEnough) {
		return Text{}, false, err
	}
	return r.text(offset), true, nil
}

// errEnough ends a read whose rest is not needed.
var errEnough = errors.New("the rest is not needed")

// textRange collects a range of the content from the JSON of an entry, which comes in parts.
type textRange struct {
	skip    int64
	most    int
	content []byte
	// more means that the content goes on behind the range; inside that the parts have reached the content.
	more, inside bool
	// rest is an escape that goes on in the next part.
	rest string
}

// add adds a text of the content. It returns false once the range is full.
func (r *textRange) add(text string) bool {
	if skipped := min(r.skip, int64(len(text))); skipped > 0 {
		r.skip -= skipped
		text = text[skipped:]
	}
	fits := min(len(text), r.most-len(r.content))
	r.content = append(r.content, text[:fits]...)
	r.more = fits < len(text)
	return !r.more
}

// read reads the next part, and keeps none of it. It returns false if no further part is needed.
func (r *textRange) read(part string) bool {
	inner := r.rest + part
	r.rest = ""
	if !r.inside {
		_, entry, found := strings.Cut(inner, `,"entry":`)
		if !found || !strings.HasPrefix(inner, `{"threadId":`) {
			entry = inner
		}
		d := decoder{rest: entry, ok: true}
		for _, name := range [...]string{`{"messageId":"`, `,"turnId":"`, `,"role":"`, `,"type":"`} {
			d.text(name)
		}
		if inner, r.inside = strings.CutPrefix(d.rest, `,"content":"`); !d.ok || !r.inside {
			return false
		}
	}
	for len(inner) > 0 {
		if size := strings.IndexAny(inner, `"\`); size != 0 {
			if size < 0 {
				size = len(inner)
			}
			if !r.add(inner[:size]) {
				return false
			}
			inner = inner[size:]
			continue
		}
		if inner[0] == '"' {
			return false
		}
		if !wholeEscape(inner) {
			r.rest = strings.Clone(inner)
			break
		}
		character, size := escaped([]byte(inner[:min(len(inner), 2*escapeBytes)]))
		var encoded [utf8.UTFMax]byte
		if !r.add(string(encoded[:utf8.EncodeRune(encoded[:], character)])) {
			return false
		}
		inner = inner[size:]
	}
	return true
}

// wholeEscape reports whether the escape at the start of a text ends within it, with the second one of a pair.
func wholeEscape(text string) bool {
	if len(text) < 2 || text[1] != 'u' {
		return len(text) >= 2
	}
	if len(text) < escapeBytes {
		return false
	}
	first := hexadecimal([]byte(text[:escapeBytes]))
	return first < 0xd800 || first > 0xdbff || len(text) >= 2*escapeBytes
}

// text returns the range, without the beginning of a character that exceeds it.
func (r *textRange) text(offset int64) Text {
	text := r.content
	for cut := 0; r.more && cut < utf8.UTFMax && len(text) > 0; cut++ {
		if last, size := utf8.DecodeLastRune(text); last != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	out := Text{Text: strings.ToValidUTF8(string(text), "\ufffd")}
	if r.more {
		out.Next = offset + int64(len(text))
	}
	return out
}
