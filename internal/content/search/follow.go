package search

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// The phases of indexing the existing rows.
const (
	walkEntries = 1
	walkTitles  = 2
)

// batch is the number of events read, or documents indexed, in one transaction: on SQLite, writes wait for it.
const batch = 100

type state struct {
	pos, walking int64
	session      string // the stored position of the walk
	message      string
	idle         bool // the step found nothing to do
}

// key is a document as stored: an entry, or with message "" a session's title.
type key struct{ session, message string }

// document is the searchable text of a key; gone if it no longer exists.
type document struct {
	key
	words []string
	gone  bool
}

// step indexes a batch. It reads the rows before the transaction, so they are at least as new as their events. If
// another process made a step in between, it writes nothing.
func (x *Index) step(ctx context.Context) (state, error) {
	x.turn.Lock()
	defer x.turn.Unlock()
	db := x.opts.DB
	var at state
	err := db.Read().QueryRowContext(ctx, `select pos, walking, at_session, at_message from search_state where id = 1`).
		Scan(&at.pos, &at.walking, &at.session, &at.message)
	if err != nil {
		return at, fmt.Errorf("read the position of the search index: %w", err)
	}
	oldest, head, err := journal.Bounds(ctx, db.Read())
	if err != nil {
		return at, err
	}
	next := at
	var changes changes
	switch {
	case at.pos < oldest-1 || at.pos > head: // the index is new, behind the kept events, or of another store
		next, changes.all = state{pos: head, walking: walkEntries}, true
	case at.walking != 0:
		err = x.walk(ctx, &next, &changes)
	case at.pos == head:
		at.idle = true
		return at, nil
	default:
		err = x.readEvents(ctx, &next, &changes)
	}
	if err == nil {
		err = x.read(ctx, &changes)
	}
	if err != nil {
		return at, err
	}
	err = db.Update(ctx, func(tx database.Tx) error {
		result, err := tx.ExecContext(ctx, `update search_state set pos = $1, walking = $2, at_session = $3, at_message = $4
			where id = 1 and pos = $5 and walking = $6 and at_session = $7 and at_message = $8`, next.pos, next.walking,
			next.session, next.message, at.pos, at.walking, at.session, at.message)
		if err != nil {
			return err
		}
		if rows, err := result.RowsAffected(); err != nil || rows == 0 {
			return errors.Join(err, errElsewhere)
		}
		return changes.write(ctx, tx, db.Engine())
	})
	if errors.Is(err, errElsewhere) {
		return at, nil
	}
	if err != nil {
		return at, fmt.Errorf("write the search index: %w", err)
	}
	return next, nil
}

// errElsewhere means that another process made the step.
var errElsewhere = errors.New("another process advanced the search index")

// changes are the writes of a step.
type changes struct {
	all       bool // the step clears the index first
	swept     []string
	keys      []key
	documents []document
}

func readKey(row database.Row) (k key, err error) { return k, row.Scan(&k.session, &k.message) }

// walk selects the next documents that existed before the index.
func (x *Index) walk(ctx context.Context, next *state, c *changes) (err error) {
	query := `select session_id, message_id from transcript_entries where (session_id, message_id) > ($1, $2)
		order by session_id, message_id limit $3`
	args := []any{next.session, next.message, batch}
	if next.walking == walkTitles {
		query = `select id, '' from sessions where id > $1 order by id limit $2`
		args = []any{next.session, batch}
	}
	c.keys, err = database.ReadAll(ctx, x.opts.DB.Read(), "read the documents to index", readKey, query, args...)
	if err != nil {
		return err
	}
	if len(c.keys) == batch {
		next.session, next.message = c.keys[batch-1].session, c.keys[batch-1].message
		return nil
	}
	next.session, next.message = "", ""
	next.walking = (next.walking + 1) % (walkTitles + 1)
	return nil
}

type event struct {
	pos                 int64
	session, item, kind string
}

// readEvents selects the documents of the next events: their entries, the titles of their sessions, and new entries
// that no event names.
func (x *Index) readEvents(ctx context.Context, next *state, c *changes) error {
	q := x.opts.DB.Read()
	events, err := database.ReadAll(ctx, q, "read the journal", func(row database.Row) (e event, err error) {
		return e, row.Scan(&e.pos, &e.session, &e.item, &e.kind)
	}, `select pos, session_id, item_id, type from journal_events where pos > $1 order by pos limit $2`, next.pos, batch)
	if err != nil {
		return err
	}
	keys, swept, before := map[key]bool{}, map[string]bool{}, next.pos
	for _, e := range events {
		next.pos = e.pos
		if e.session == "" {
			continue
		}
		keys[key{e.session, ""}] = true
		if e.item != "" {
			keys[key{e.session, e.item}] = true
		}
		swept[e.session] = swept[e.session] || x.opts.Removes(e.kind)
	}
	for session, gone := range swept {
		if gone {
			c.swept = append(c.swept, session)
		}
		fresh, err := x.fresh(ctx, session, fmt.Sprintf(`ordinal > (select coalesce(max(ordinal), 0) - %d
			from transcript_entries where session_id = $1)`, 2*batch))
		if err == nil && len(fresh) == 2*batch { // the batch is full, so there may be more entries
			fresh, err = x.fresh(ctx, session, `ordinal > 0`)
		}
		if err != nil {
			return err
		}
		if len(fresh) > 2*batch {
			next.pos = before // the next steps index the rest
		}
		for _, k := range fresh {
			keys[k] = true
		}
	}
	for k := range keys {
		c.keys = append(c.keys, k)
	}
	// All processes write in the same order, which avoids deadlocks.
	sort.Slice(c.keys, func(i, j int) bool {
		a, b := c.keys[i], c.keys[j]
		return a.session < b.session || a.session == b.session && a.message < b.message
	})
	return nil
}

// fresh returns entries of a session that are not in the index, at most one more than a step indexes.
func (x *Index) fresh(ctx context.Context, session, which string) ([]key, error) {
	return database.ReadAll(ctx, x.opts.DB.Read(), "read new entries", readKey, `select session_id, message_id
		from transcript_entries e where session_id = $1 and `+which+` and not exists (select 1 from search_documents d
		where d.session = e.session_id and d.message = e.message_id) order by ordinal limit $2`, session, 2*batch+1)
}

// read reads the current texts of the documents.
func (x *Index) read(ctx context.Context, c *changes) error {
	q := x.opts.DB.Read()
	for _, k := range c.keys {
		d := document{key: k, gone: true}
		if k.message == "" {
			titles, err := database.ReadTexts(ctx, q, "read a title", `select name from sessions where id = $1`, k.session)
			if err != nil {
				return err
			}
			for _, title := range titles {
				d.words, d.gone = termsOf(title), false
			}
		} else {
			content, there, err := x.opts.Entries.Beginning(ctx, q, database.DecodeText(k.session), database.DecodeText(k.message),
				maxText)
			if err != nil {
				return err
			}
			if there {
				d.words, d.gone = termsOf(content), false
			}
		}
		c.documents = append(c.documents, d)
	}
	return nil
}
