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

// Encodings are the stored JSON of a transcript's entries, so that an answer need not encode them again.
type Encodings []encoding

type encoding struct {
	json string // "" if unknown
	of   Entry
}

// AppendJSON appends the entries as a JSON array. It copies the JSON of entries that are unchanged since they were
// read. The entries must be in the order in which they were read.
func (all Encodings) AppendJSON(dst []byte, entries []Entry) []byte {
	dst = append(dst, '[')
	for i := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		entry := &entries[i]
		for len(all) > len(entries)-i && all[0].of.MessageID != entry.MessageID {
			all = all[1:] // the caller omitted it
		}
		if len(all) > 0 && all[0].of.MessageID == entry.MessageID {
			known := &all[0]
			all = all[1:]
			if known.json != "" && known.of.Equal(*entry) {
				dst = append(dst, known.json...)
				continue
			}
		}
		dst = entry.AppendJSON(dst)
	}
	return append(dst, ']')
}

// List returns a session's entries in reading order, without those of rolled-back turns.
func (s Store) List(ctx context.Context, q database.Querier, sessionID string) (entries []Entry, err error) {
	entries = []Entry{}
	err = s.EachPage(ctx, q, sessionID, func(page []Entry, _ Encodings) error {
		entries = append(entries, page...)
		return nil
	})
	return entries, err
}

// A page of EachPage is full once it has this many entries or bytes.
const (
	pageEntries = 256
	pageBytes   = 256 << 10
)

// errPageFull ends the read of a page.
var errPageFull = errors.New("the page is full")

// EachPage yields a session's entries in reading order, one page at a time, without those of rolled-back turns. The
// caller owns a page and its JSON. Pages are consistent with each other if q is a snapshot.
func (s Store) EachPage(ctx context.Context, q database.Querier, sessionID string,
	give func(page []Entry, encodings Encodings) error) error {
	p := pager{session: database.EncodeText(sessionID), ordinal: -1}
	var err error
	if p.kept, err = keptOf(ctx, q, p.session); err != nil {
		return err
	}
	for more := true; more; {
		if more, err = p.read(ctx, q); err == nil && len(p.missing) > 0 {
			err = s.fill(ctx, q, sessionID, &p)
		}
		if err == nil {
			err = p.nameDamaged(ctx, q)
		}
		if err != nil {
			return fmt.Errorf("read transcript of session %s: %w", sessionID, err)
		}
		if len(p.entries) == 0 {
			return nil
		}
		if err := give(p.entries, p.encodings); err != nil {
			return err
		}
	}
	return nil
}

// pager reads pages; it holds the last page and its end. from is where that page starts.
type pager struct {
	session, kept        string
	from, place, ordinal int64
	entries              []Entry
	encodings            Encodings
	missing              map[string]int // entries not stored as JSON, with their index in the page
	damaged              []damagedAt
}

// damagedAt is a damaged entry: its index in the page, and its place in the transcript.
type damagedAt struct {
	index          int
	place, ordinal int64
}

// encodedInJoin is encodedWhole for a join with journal_events, which also has a column session_id.
var encodedInJoin = strings.ReplaceAll(encodedWhole, " session_id", " transcript_entries.session_id")

// joinedEvent is the condition of that join. It matches only an event about the same entry.
const joinedEvent = `journal_events.pos = event_pos and journal_events.item_id = transcript_entries.message_id
	and journal_events.session_id = transcript_entries.session_id`

// read reads the next page, as far as its entries are stored as JSON. Reading one text column instead of nine halves
// the time. For an entry not stored as JSON, the column has a colon and the entry's id.
func (p *pager) read(ctx context.Context, q database.Querier) (more bool, err error) {
	// Use a join: SQLite then looks up the events of entries with one cursor; a subquery opens one per entry.
	p.entries, p.encodings, p.missing = make([]Entry, 0, pageEntries), make(Encodings, 0, pageEntries), map[string]int{}
	p.damaged = nil
	size, after := 0, []any{p.session, p.place, p.ordinal, pageEntries}
	err = database.ReadEach(ctx, q, "read entries", func(row database.Row) error {
		var (
			stored string
			kept   sql.NullInt64
		)
		if err := row.Scan(&stored, &kept, &p.place, &p.ordinal); err != nil {
			return err
		}
		if len(p.entries) == 0 {
			p.from = p.place
		}
		var known encoding
		if message, apart := strings.CutPrefix(stored, ":"); apart {
			p.missing[database.DecodeText(message)] = len(p.entries)
		} else if err := known.open(stored, kept); err != nil {
			p.damaged = append(p.damaged, damagedAt{len(p.entries), p.place, p.ordinal})
		}
		p.entries, p.encodings = append(p.entries, known.of), append(p.encodings, known)
		if size += len(stored); size >= pageBytes {
			return errPageFull
		}
		return nil
	}, `select coalesce(`+encodedInJoin+`, `+journal.Payload+`, case when event_pos is null then ':' || message_id else '' end),
			coalesce(transcript_entries.checksum, journal_events.checksum), place, ordinal
		from transcript_entries left join journal_events on `+joinedEvent+`
		where transcript_entries.session_id = $1 and place >= 0`+p.kept+` and (place, ordinal) > ($2, $3)
		order by place, ordinal limit $4`, after...)
	if errors.Is(err, errPageFull) {
		return true, nil
	}
	return len(p.entries) == pageEntries, err
}

// open decodes a stored entry. Its errors are errDamaged and those of decodeEntry.
func (e *encoding) open(stored string, kept sql.NullInt64) (err error) {
	text, err := openStored(stored, kept)
	if err != nil {
		return err
	}
	if e.of, err = decodeEntry(text); err == nil {
		e.json = text
	}
	return err
}

// nameDamaged puts the replacements that readers see for damaged entries into the page.
func (p *pager) nameDamaged(ctx context.Context, q database.Querier) error {
	for _, one := range p.damaged {
		var err error
		p.entries[one.index], err = scanEntry(ctx, q.QueryRowContext(ctx, `select `+entryColumns+` from transcript_entries
			where session_id = $1 and place = $2 and ordinal = $3`, p.session, one.place, one.ordinal))
		if err != nil {
			return err
		}
	}
	return nil
}

// fill reads the entries of a page that are not stored as JSON.
func (s Store) fill(ctx context.Context, q database.Querier, sessionID string, p *pager) error {
	err := database.ReadEach(ctx, q, "read entries", func(row database.Row) error {
		entry, err := scanEntry(ctx, row)
		if at, wanted := p.missing[entry.MessageID]; err == nil && wanted {
			p.entries[at] = entry
			delete(p.missing, entry.MessageID)
		}
		return err
	}, `select `+entryColumns+` from transcript_entries
		where session_id = $1 and encoded is null and event_pos is null and place between $2 and $3`, p.session, p.from, p.place)
	if err != nil {
		return err
	}
	for id, at := range p.missing { // it has changed since, and is now stored as JSON
		if p.entries[at], _, err = s.Find(ctx, q, sessionID, id); err != nil {
			return err
		}
	}
	return nil
}
