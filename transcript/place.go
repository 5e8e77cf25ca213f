package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"harness/internal/platform/database"
)

// A place is an entry's position in its session's transcript, encoded as one number, so that a window is a range of an
// index. Its fields, from the highest bits down:
//
//	block    the turn: the runtime's turns in order, then those only clients and jobs wrote to, by first appearance
//	segment  the number of the runtime's answers that started earlier in that turn
//	number   the entry's own number, which increases within the session
//	sub      0, or the entry's position after the one it asked to follow (details.anchorItemId), from 1
//
// An item of the runtime goes to the turn's last segment, and an answer starts a new one. Entries of others go to the
// end of the segment before the turn's last answer. An entry keeps its place when later entries arrive: a client that
// pages while the transcript grows misses nothing.
const (
	subBits, numberBits, segmentBits, blockBits = 7, 27, 10, 19

	segmentShift = subBits + numberBits
	blockShift   = segmentShift + segmentBits

	lastSub     = 1<<subBits - 1
	lastNumber  = 1<<numberBits - 1
	lastSegment = 1<<segmentBits - 1
	lastBlock   = 1<<blockBits - 2

	// firstBlock is the block of the runtime's first turn; firstAppendix is that of the first turn unknown to the
	// runtime. Entries stored before places existed are in block 0 (migration 0011), in the order in which they
	// appeared.
	firstBlock, firstAppendix int64 = 1, 1 << (blockBits - 1)
)

// hidden is the place of entries that are never shown.
const hidden = -1

// errTooLong means that a session cannot have more entries.
var errTooLong = fmt.Errorf("a session holds %d entries at most", lastNumber)

func placeOf(block, segment, number int64) int64 {
	return block<<blockShift | min(segment, lastSegment)<<segmentShift | number<<subBits
}

func segmentOf(place int64) int64 { return place >> segmentShift & lastSegment }

// turnKey is the stored key of a turn.
type turnKey struct{ session, turn string }

// block is a turn's part of the transcript: its number and the place of its last entry, each 0 if it has none. begun
// reports that the runtime started the turn just now: none of its items has a place yet.
type block struct {
	number, last int64
	begun        bool
}

// placer assigns places to new entries within one transaction, which has no concurrent writer.
type placer struct {
	tx     database.Tx
	blocks map[turnKey]*block
	// places holds the places of entries that are not written yet; subs counts the entries anchored to a place.
	places map[key]int64
	subs   map[int64]int64
	fresh  []any // rows of transcript_turns to write
	next   map[string]int64
}

func newPlacer(tx database.Tx) *placer {
	return &placer{tx: tx, blocks: map[turnKey]*block{}, places: map[key]int64{}, subs: map[int64]int64{},
		next: map[string]int64{}}
}

// load reads the blocks of turns.
func (p *placer) load(ctx context.Context, keys []turnKey) error {
	args := make([]any, 0, 2*len(keys))
	for _, k := range keys {
		if p.blocks[k] == nil {
			p.blocks[k] = &block{}
			args = append(args, k.session, k.turn)
		}
	}
	err := readBlocks.Query(ctx, p.tx, args, func(rows *sql.Rows) error {
		var k turnKey
		var b block
		if err := rows.Scan(&k.session, &k.turn, &b.number, &b.last); err != nil {
			return err
		}
		*p.blocks[k] = b
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the places of %d turns: %w", len(args)/2, err)
	}
	return nil
}

// place returns the place of a new entry; item says whether it is an item of the runtime.
func (p *placer) place(ctx context.Context, k key, entry *Entry, number int64, item bool) (int64, error) {
	turn := turnKey{k.session, database.EncodeText(entry.TurnID)}
	if err := p.load(ctx, []turnKey{turn}); err != nil {
		return 0, err
	}
	if number > lastNumber {
		return 0, errTooLong
	}
	if !item && synthetic(entry.MessageID) {
		if same, err := p.madeUp(ctx, turn, entry); err != nil || same {
			return hidden, err
		}
	}
	if !item {
		return p.supplement(ctx, k, entry, number)
	}
	if err := p.begin(ctx, turn); err != nil {
		return 0, err
	}
	return p.item(k, entry, number), nil
}

// moves reports whether an entry that was stored as old may now belong to another place.
func moves(old, now Entry) bool {
	if old.TurnID != now.TurnID || synthetic(now.MessageID) {
		return true
	}
	target := anchor(now)
	return target != "" && target != anchor(old)
}

// move assigns a stored entry another place.
func (p *placer) move(ctx context.Context, k key, entry *Entry, item bool) error {
	var number, before int64
	err := p.tx.QueryRowContext(ctx,
		`select ordinal, place from transcript_entries where session_id = $1 and message_id = $2`, k.session, k.message).
		Scan(&number, &before)
	if err != nil {
		return fmt.Errorf("read the number of entry %s: %w", entry.MessageID, err)
	}
	if stays, err := p.rename(ctx, k, before>>blockShift, entry); err != nil || stays {
		return err
	}
	place, err := p.place(ctx, k, entry, number, item)
	if err != nil {
		return err
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if _, err := p.tx.ExecContext(ctx,
		`update transcript_entries set place = $3 where session_id = $1 and message_id = $2`,
		k.session, k.message, place); err != nil {
		return fmt.Errorf("move entry %s: %w", entry.MessageID, err)
	}
	return nil
}

// rename gives an entry's block to its new turn, if it is alone there and that turn has no block. The entry then keeps
// its place.
func (p *placer) rename(ctx context.Context, k key, number int64, entry *Entry) (bool, error) {
	turn := turnKey{k.session, database.EncodeText(entry.TurnID)}
	if err := p.load(ctx, []turnKey{turn}); err != nil {
		return false, err
	}
	if number < firstAppendix || p.blocks[turn].number != 0 {
		return false, nil
	}
	beside, err := database.ReadTexts(ctx, p.tx, "read the entries beside "+entry.MessageID,
		`select message_id from transcript_entries
		where session_id = $1 and place >= $2 and place < $3 limit 2`, k.session, number<<blockShift, (number+1)<<blockShift)
	if err != nil || len(beside) > 1 {
		return false, err
	}
	if _, err := p.tx.ExecContext(ctx, `update transcript_turns set turn_id = $3 where session_id = $1 and block = $2`,
		k.session, number, turn.turn); err != nil {
		return false, fmt.Errorf("rename the turn of entry %s: %w", entry.MessageID, err)
	}
	delete(p.blocks, turn)
	return true, nil
}

// madeUpWithin is the number of a turn's newest entries to compare with an invented one.
const madeUpWithin = 256

// madeUp reports whether an entry whose id has the form of invented ones (item-<n>) repeats an entry of its turn. Such
// an entry is never shown.
func (p *placer) madeUp(ctx context.Context, turn turnKey, entry *Entry) (bool, error) {
	number := p.blocks[turn].number
	others, err := database.ReadAll(ctx, p.tx, "read the entries of turn "+entry.TurnID,
		func(row database.Row) (Entry, error) { return scanEntry(ctx, row) },
		`select `+entryColumns+` from transcript_entries where session_id = $1 and place >= $2 and place < $3
			order by place desc limit $4`, turn.session, number<<blockShift, (number+1)<<blockShift, madeUpWithin)
	return slices.ContainsFunc(others, func(other Entry) bool {
		return !synthetic(other.MessageID) && duplicates(*entry, other)
	}), err
}

// supplement returns the place of an entry that is not an item of the runtime; its turn must be loaded.
func (p *placer) supplement(ctx context.Context, k key, entry *Entry, number int64) (int64, error) {
	turn := turnKey{k.session, database.EncodeText(entry.TurnID)}
	b := p.blocks[turn]
	if b.number == 0 {
		if err := p.open(ctx, turn, firstAppendix, lastBlock+1); err != nil {
			return 0, err
		}
	}
	place := placeOf(b.number, max(segmentOf(b.last)-1, 0), number)
	if target := anchor(*entry); target != "" && target != entry.MessageID {
		behind, err := p.behind(ctx, key{k.session, database.EncodeText(target)}, b.number)
		if err != nil {
			return 0, err
		}
		if behind != 0 {
			place = behind
		}
	}
	p.note(k, b, place)
	return place, nil
}

// item returns the place of an item of the runtime; its turn must be loaded and be one of the runtime's.
func (p *placer) item(k key, entry *Entry, number int64) int64 {
	b := p.blocks[turnKey{k.session, database.EncodeText(entry.TurnID)}]
	segment := segmentOf(b.last)
	switch {
	case entry.Role == "assistant":
		segment++
	case entry.Role == "user" && b.begun:
		number = 0 // the message that started a turn precedes entries written to the turn earlier
	}
	b.begun = false
	place := placeOf(b.number, segment, number)
	p.note(k, b, place)
	return place
}

func (p *placer) note(k key, b *block, place int64) {
	p.places[k] = place
	b.last = max(b.last, place)
}

// open assigns a turn the next free block, starting at from and below the limit.
func (p *placer) open(ctx context.Context, turn turnKey, from, below int64) error {
	region := fmt.Sprint(turn.session, "\x00", from)
	if _, known := p.next[region]; !known {
		next := from
		err := p.tx.QueryRowContext(ctx,
			`select block + 1 from transcript_turns where session_id = $1 and block >= $2 and block < $3
			order by block desc limit 1`, turn.session, from, below).Scan(&next)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("find a place for turn %s: %w", turn.turn, err)
		}
		p.next[region] = next
	}
	number := min(p.next[region], below-1) // a session with too many turns puts the last ones into one block
	p.next[region] = number + 1
	p.blocks[turn].number = number
	p.fresh = append(p.fresh, turn.session, turn.turn, number)
	return nil
}

// behind returns the place after an entry of the same block and the entries already anchored to it; 0 if there is
// none.
func (p *placer) behind(ctx context.Context, target key, number int64) (int64, error) {
	place, known := p.places[target]
	if !known {
		err := p.tx.QueryRowContext(ctx, `select place from transcript_entries where session_id = $1 and message_id = $2`,
			target.session, target.message).Scan(&place)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("find the place of entry %s: %w", target.message, err)
		}
	}
	if place>>blockShift != number {
		return 0, nil
	}
	place &^= lastSub
	sub, known := p.subs[place]
	if !known {
		var last sql.NullInt64
		if err := p.tx.QueryRowContext(ctx,
			`select max(place) from transcript_entries where session_id = $1 and place >= $2 and place <= $3`,
			target.session, place, place|lastSub).Scan(&last); err != nil {
			return 0, fmt.Errorf("find a place behind entry %s: %w", target.message, err)
		}
		sub = last.Int64 & lastSub
	}
	if sub == lastSub {
		return 0, nil // too many entries are anchored there: place it as if it had no anchor
	}
	p.subs[place] = sub + 1
	return place | sub + 1, nil
}

// begin makes a turn one of the runtime's: it gets the next block of those, together with the entries written to it
// earlier.
func (p *placer) begin(ctx context.Context, turn turnKey) error {
	b := p.blocks[turn]
	if b.number != 0 && b.number < firstAppendix {
		return nil
	}
	before := b.number
	if err := p.open(ctx, turn, firstBlock, firstAppendix); err != nil {
		return err
	}
	b.begun = true
	if before == 0 {
		return nil
	}
	p.fresh = p.fresh[:len(p.fresh)-3]
	by := (before - b.number) << blockShift
	if _, err := p.tx.ExecContext(ctx, `update transcript_turns set block = $3 where session_id = $1 and turn_id = $2`,
		turn.session, turn.turn, b.number); err != nil {
		return fmt.Errorf("move turn %s: %w", turn.turn, err)
	}
	if _, err := p.tx.ExecContext(ctx,
		`update transcript_entries set place = place - $4 where session_id = $1 and place >= $2 and place < $3`,
		turn.session, before<<blockShift, (before+1)<<blockShift, by); err != nil {
		return fmt.Errorf("move the entries of turn %s: %w", turn.turn, err)
	}
	b.last -= by
	return nil
}

// flush writes the turns that got blocks.
func (p *placer) flush(ctx context.Context) error {
	if err := insertBlocks.Exec(ctx, p.tx, p.fresh); err != nil {
		return fmt.Errorf("store the places of %d turns: %w", len(p.fresh)/3, err)
	}
	p.fresh = nil
	return nil
}

var (
	readBlocks = database.NewBulks(
		blocksText(`v join transcript_turns b on b.session_id = v.s and b.turn_id = v.t`),
		blocksText(`v cross join lateral (select * from transcript_turns t where t.session_id = v.s and t.turn_id = v.t limit 1) as b`),
		database.Text, database.Text)
	insertBlocks = database.NewBulk(`insert into transcript_turns (session_id, turn_id, block) {rows}`, database.Text,
		database.Text, database.Int)
)

func blocksText(found string) string {
	return `with v (s, t) as ({rows}) select v.s, v.t, b.block, ` + lastOfBlock("v.s") + ` from ` + found
}

// lastOfBlock is SQL for the last place in a block b of a session, 0 if the block is empty.
func lastOfBlock(session string) string {
	return fmt.Sprintf(`coalesce((select e.place from transcript_entries e
		where e.session_id = %s and e.place >= b.block * %d and e.place < (b.block + 1) * %d order by e.place desc limit 1), 0)`,
		session, int64(1)<<blockShift, int64(1)<<blockShift)
}
