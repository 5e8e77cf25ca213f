package transcript

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// Turn is one turn as the runtime stores it: its items in order, complete and with times.
type Turn struct {
	ID      string
	Entries []Entry
}

// row is a stored entry with its place.
type row struct {
	Entry
	number, place int64
	changed       bool
}

// importing is a session's transcript while the runtime's history is merged into it.
type importing struct {
	session string // as stored
	rows    []*row // by number
	byID    map[string]*row
	blocks  map[string]int64 // by turn id
	turns   []Turn
}

// Import merges the runtime's history of a session. It adds items that are not stored. If both sides have an item, it
// keeps the more final version, then the longer one. Turns keep their places if they are stored in the runtime's
// order. Otherwise, because a history from elsewhere is older than the stored entries, Import reorders the transcript.
// The runtime's turns come first, each with the entries that others wrote to it, then all other turns.
func (Store) Import(ctx context.Context, tx database.Tx, sessionID string, turns []Turn) error {
	in := importing{session: database.EncodeText(sessionID), byID: map[string]*row{}, blocks: map[string]int64{},
		turns: turns}
	if err := in.read(ctx, tx); err != nil {
		return fmt.Errorf("read the transcript of session %s: %w", sessionID, err)
	}
	in.settle()
	if in.inOrder() {
		return in.add(ctx, tx)
	}
	return in.rebuild(ctx, tx)
}

func (in *importing) read(ctx context.Context, tx database.Tx) error {
	err := database.ReadEach(ctx, tx, "read the entries", func(stored database.Row) (err error) {
		var r row
		r.Entry, _, err = scanStored(ctx, placed{stored, &r}) // replace a damaged row
		in.rows, in.byID[r.MessageID] = append(in.rows, &r), &r
		return err
	}, `select ordinal, place, `+entryColumns+` from transcript_entries where session_id = $1 order by ordinal`,
		in.session)
	if err != nil {
		return err
	}
	return database.ReadEach(ctx, tx, "read the turns", func(stored database.Row) error {
		var (
			turn   string
			number int64
		)
		err := stored.Scan(&turn, &number)
		in.blocks[database.DecodeText(turn)] = number
		return err
	}, `select turn_id, block from transcript_turns where session_id = $1`, in.session)
}

// placed scans a number and a place before the columns of an entry.
type placed struct {
	stored database.Row
	row    *row
}

// Scan implements database.Row.
func (p placed) Scan(dest ...any) error {
	return p.stored.Scan(append([]any{&p.row.number, &p.row.place}, dest...)...)
}

// settle removes items that the runtime invented while it reread its history. If two items share an id, it gives one
// of them a new id.
func (in *importing) settle() {
	stored := map[string][]Entry{}
	for _, r := range in.rows {
		stored[r.TurnID] = append(stored[r.TurnID], r.Entry)
	}
	taken := map[string]bool{}
	turns := make([]Turn, len(in.turns))
	for i, turn := range in.turns {
		turns[i].ID = turn.ID
		for _, entry := range withoutMadeUp(turn.Entries, stored[turn.ID]) {
			if taken[entry.MessageID] {
				entry.MessageID += "#" + turn.ID
			}
			taken[entry.MessageID] = true
			turns[i].Entries = append(turns[i].Entries, entry)
		}
	}
	in.turns = turns
}

// inOrder reports whether the import can keep all places. The stored turns must have the runtime's order, and missing
// items must come after them. No client may have written to a turn before the runtime reported that turn.
func (in *importing) inOrder() bool {
	for _, r := range in.rows {
		if r.place>>blockShift < firstBlock && r.place != hidden {
			return false
		}
	}
	last, ended := int64(0), false
	for _, turn := range in.turns {
		number := in.blocks[turn.ID]
		known := number != 0 && number < firstAppendix
		if known && (ended || number < last) || number >= firstAppendix {
			return false
		}
		last, ended = max(last, number), ended || !known
		for _, entry := range turn.Entries {
			if r := in.byID[entry.MessageID]; r != nil && r.TurnID != turn.ID {
				return false
			}
		}
	}
	return true
}

// add stores the missing items, each at the end of its turn.
func (in *importing) add(ctx context.Context, tx database.Tx) error {
	states := map[key]*state{}
	var changed []key
	for _, turn := range in.turns {
		for _, entry := range turn.Entries {
			r := in.byID[entry.MessageID]
			k := key{in.session, database.EncodeText(entry.MessageID)}
			if r == nil {
				if _, _, err := insert(ctx, tx, k, settleTimes(entry), true); err != nil {
					return err
				}
				continue
			}
			if merged := settleTimes(prefer(entry, r.Entry)); !merged.Equal(r.Entry) {
				states[k], changed = &state{entry: merged}, append(changed, k)
			}
		}
	}
	return write(ctx, tx, changed, states, updateEntries, false)
}

// rebuild stores the missing items and places every entry.
func (in *importing) rebuild(ctx context.Context, tx database.Tx) error {
	known := map[string]bool{}
	for _, turn := range in.turns {
		known[turn.ID] = true
		for _, entry := range turn.Entries {
			if r := in.byID[entry.MessageID]; r != nil {
				merged := settleTimes(prefer(entry, r.Entry))
				r.changed, r.Entry = !merged.Equal(r.Entry), merged
			}
		}
	}
	others := map[string][]*row{} // entries that are not in the runtime's history, by turn
	items := map[string]bool{}
	for _, turn := range in.turns {
		for _, entry := range turn.Entries {
			items[entry.MessageID] = true
		}
	}
	// Turns that are not in the history: running or lost ones of the runtime, and those that only others wrote to.
	var ours, theirs []string
	for _, r := range in.rows {
		if items[r.MessageID] || r.place == hidden {
			continue
		}
		if others[r.TurnID] == nil && !known[r.TurnID] {
			if number := in.blocks[r.TurnID]; number != 0 && number < firstAppendix {
				ours = append(ours, r.TurnID)
			} else {
				theirs = append(theirs, r.TurnID)
			}
		}
		others[r.TurnID] = append(others[r.TurnID], r)
	}
	blocks := &renumbering{importing: in, places: map[string]int64{}}
	for _, turn := range in.turns {
		blocks.turn(firstBlock, turn.ID, turn.Entries, others[turn.ID])
	}
	for _, id := range ours {
		blocks.turn(firstBlock, id, nil, others[id])
	}
	for _, id := range theirs {
		blocks.turn(firstAppendix, id, nil, others[id])
	}
	return blocks.store(ctx, tx)
}

// renumbering places the entries of a session, turn by turn.
type renumbering struct {
	*importing
	runtime, appendix int64 // number of turns of each kind so far
	turnRows          []any
	places            map[string]int64 // of the entries seen so far
	fresh             []Entry          // not stored yet
}

func (n *renumbering) turn(region int64, id string, items []Entry, others []*row) {
	count := &n.runtime
	if region == firstAppendix {
		count = &n.appendix
	}
	block := min(region+*count, region+firstAppendix-firstBlock-1)
	*count++
	n.turnRows = append(n.turnRows, n.session, database.EncodeText(id), block)
	segment, number := int64(0), int64(0)
	for _, item := range items {
		if item.Role == "assistant" {
			segment++
		}
		n.places[item.MessageID] = placeOf(block, segment, number)
		number++
		if n.byID[item.MessageID] == nil {
			n.fresh = append(n.fresh, settleTimes(item))
		}
	}
	subs := map[int64]int64{}
	for _, r := range others {
		place := placeOf(block, max(min(segment, lastSegment)-1, 0), number)
		number++
		if target := anchor(r.Entry); target != "" && target != r.MessageID {
			if at, found := n.places[target]; found && at>>blockShift == block && subs[at&^lastSub] < lastSub {
				subs[at&^lastSub]++
				place = at&^lastSub | subs[at&^lastSub]
			}
		}
		n.places[r.MessageID] = place
	}
}

func (n *renumbering) store(ctx context.Context, tx database.Tx) error {
	if _, err := tx.ExecContext(ctx, `delete from transcript_turns where session_id = $1`, n.session); err != nil {
		return fmt.Errorf("order the turns of a session anew: %w", err)
	}
	if err := insertBlocks.Exec(ctx, tx, n.turnRows); err != nil {
		return fmt.Errorf("order the turns of a session anew: %w", err)
	}
	states := map[key]*state{}
	var moved []any
	var changed, added []key
	last := int64(0)
	for _, r := range n.rows {
		k := key{n.session, database.EncodeText(r.MessageID)}
		last = max(last, r.number)
		if r.changed {
			states[k], changed = &state{entry: r.Entry}, append(changed, k)
		}
		if place, has := n.places[r.MessageID]; has && place != r.place {
			moved = append(moved, k.session, k.message, place)
		}
	}
	for _, entry := range n.fresh {
		last++
		k := key{n.session, database.EncodeText(entry.MessageID)}
		states[k], added = &state{entry: entry, ordinal: last, place: n.places[entry.MessageID]}, append(added, k)
	}
	if err := updatePlaces.Exec(ctx, tx, moved); err != nil {
		return fmt.Errorf("move %d transcript entries: %w", len(moved)/3, err)
	}
	if err := write(ctx, tx, changed, states, updateEntries, false); err != nil {
		return fmt.Errorf("update %d transcript entries: %w", len(changed), err)
	}
	if err := write(ctx, tx, added, states, insertEntries, true); err != nil {
		return fmt.Errorf("insert %d transcript entries: %w", len(added), err)
	}
	return nil
}

var updatePlaces = database.NewBulk(`with v (s, m, place) as ({rows})
	update transcript_entries set place = v.place from v
	where transcript_entries.session_id = v.s and transcript_entries.message_id = v.m`, database.Text, database.Text,
	database.Int)
