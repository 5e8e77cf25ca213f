package transcript

import (
	"context"
	"fmt"
	"strings"

	"harness/database"
	"harness/journal"
)

// Encodings are the entries of a transcript as JSON as they were stored, so that a reader's answer is not encoded
// again.
type Encodings []encoding

type encoding struct {
	json string // "" when it is not known
	of   Entry
}

// AppendJSON appends the entries as a JSON array. Those that are as they were read are copied; they have the order in
// which they were read.
func (all Encodings) AppendJSON(dst []byte, entries []Entry) []byte {
	dst = append(dst, '[')
	for i := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		entry := &entries[i]
		for len(all) > len(entries)-i && all[0].of.MessageID != entry.MessageID {
			all = all[1:] // it was left out
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

// List returns a session's entries in reading order, without those of turns that were taken back.
func (s Store) List(ctx context.Context, q database.Querier, sessionID string) ([]Entry, error) {
	entries, _, err := s.ListEncoded(ctx, q, sessionID)
	return entries, err
}

// ListEncoded is List with the entries as JSON.
func (s Store) ListEncoded(ctx context.Context, q database.Querier, sessionID string) ([]Entry, Encodings, error) {
	session := database.EncodeText(sessionID)
	number, err := lastOrdinal(ctx, q, session)
	if err != nil {
		return nil, nil, fmt.Errorf("read the length of the transcript of session %s: %w", sessionID, err)
	}
	kept, err := keptOf(ctx, q, session)
	if err != nil {
		return nil, nil, err
	}
	entries, encodings, missing, err := list(ctx, q, session, kept, number)
	if err == nil && len(missing) > 0 {
		err = s.fill(ctx, q, sessionID, entries, missing)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read transcript of session %s: %w", sessionID, err)
	}
	return entries, encodings, nil
}

// encodedInJoin is encodedWhole where journal_events is joined, which has sessions, too.
var encodedInJoin = strings.ReplaceAll(encodedWhole, " session_id", " transcript_entries.session_id")

// list reads the entries that are stored as JSON, and where the others belong. One column instead of ten is half its
// time: the id of an entry that is not stored as JSON stands in it behind a colon. number is about how many there are.
func list(ctx context.Context, q database.Querier, session, kept string, number int64) (entries []Entry,
	encodings Encodings, missing map[string]int, err error) {
	// A join, because SQLite looks up the events of entries one after the other with one cursor then, a subquery opens one
	// for each.
	missing = map[string]int{}
	entries, encodings = make([]Entry, 0, number), make(Encodings, 0, number)
	var stored string
	err = database.ReadEach(ctx, q, "read entries", func(row database.Row) error {
		err := row.Scan(&stored)
		var known encoding
		if message, apart := strings.CutPrefix(stored, ":"); apart {
			missing[database.DecodeText(message)] = len(entries)
		} else if err == nil {
			known.json = cutEntry(stored)
			known.of, err = decodeEntry(known.json)
		}
		entries, encodings = append(entries, known.of), append(encodings, known)
		return err
	}, `select coalesce(`+encodedInJoin+`, `+journal.Payload+
		`, case when event_pos is null then ':' || message_id else '' end)
		from transcript_entries left join journal_events on journal_events.pos = event_pos
		where transcript_entries.session_id = $1 and place >= 0`+kept+` order by place, ordinal`, session)
	return entries, encodings, missing, err
}

// fill reads the entries that are not stored as JSON.
func (s Store) fill(ctx context.Context, q database.Querier, sessionID string, entries []Entry,
	missing map[string]int) error {
	err := database.ReadEach(ctx, q, "read entries", func(row database.Row) error {
		entry, err := scanEntry(ctx, row)
		if at, wanted := missing[entry.MessageID]; err == nil && wanted {
			entries[at] = entry
			delete(missing, entry.MessageID)
		}
		return err
	}, `select `+entryColumns+` from transcript_entries
		where session_id = $1 and encoded is null and event_pos is null`, database.EncodeText(sessionID))
	if err != nil {
		return err
	}
	for id, at := range missing { // it changed meanwhile, and is stored as JSON now
		if entries[at], _, err = s.Find(ctx, q, sessionID, id); err != nil {
			return err
		}
	}
	return nil
}
