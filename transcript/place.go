package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"harness/internal/platform/database"
)

// A place is where an entry stands in its session's transcript, as one number, so that a window is a stretch of an
// index. From the highest bits down it says
//
//	block    which turn: the runtime's turns in their order, then those only clients and jobs wrote to, by first appearance
//	segment  how many answers of the runtime began in that turn before it
//	number   the entry's own, which counts up within the session
//	sub      0, or how many entries stand behind the one it asked to follow (details.anchorItemId), itself included
//
// An item of the runtime goes to the turn's last segment, and an answer begins one. What others write goes to the end
// of the segment before the turn's last answer. An entry keeps its place, whatever comes later: who pages on while the
// transcript grows misses nothing.
const (
	subBits, numberBits, segmentBits, blockBits = 7, 27, 10, 19

	segmentShift = subBits + numberBits
	blockShift   = segmentShift + segmentBits

	lastSub     = 1<<subBits - 1
	lastNumber  = 1<<numberBits - 1
	lastSegment = 1<<segmentBits - 1
	lastBlock   = 1<<blockBits - 2

	// firstBlock is that of the runtime's first turn, firstAppendix that of the first turn the runtime knows nothing of.
	// Entries stored before there were places stand in block 0 (migration 0011), in the order they appeared in.
	firstBlock, firstAppendix int64 = 1, 1 << (blockBits - 1)
)

// hidden is the place of entries that are never shown.
const hidden = -1

// errTooLong says that a session can have no more entries.
var errTooLong = fmt.Errorf("a session holds %d entries at most", lastNumber)

func placeOf(block, segment, number int64) int64 {
	return block<<blockShift | min(segment, lastSegment)<<segmentShift | number<<subBits
}

func segmentOf(place int64) int64 { return place >> segmentShift & lastSegment }

// turnKey names a turn as it is stored.
type turnKey struct{ session, turn string }

// block is a turn's part of the transcript: its number, 0 while it has none, and where its last entry stands, 0 while
// it has none. begun says that the runtime is known to have begun the turn just now: no item of it is placed yet.
type block struct {
	number, last int64
	begun        bool
}

// placer finds places for new entries within one transaction, which has no concurrent writer.
type placer struct {
	tx     database.Tx
	blocks map[turnKey]*block
	// places are those of entries that are not written yet; subs how many stand behind a place.
	places map[key]int64
	subs   map[int64]int64
	fresh  []any // rows of transcript_turns to be written
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

// place is the place of a new entry, an item of the runtime or not.
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

// moves reports whether an entry that was stored as old may belong to another place as it is now.
func moves(old, now Entry) bool {
	if old.TurnID != now.TurnID || synthetic(now.MessageID) {
		return true
	}
	target := anchor(now)
	return target != "" && target != anchor(old)
}

// move gives an entry that is stored another place.
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

// rename gives the block of an entry that is alone in it to the entry's new turn, if that has none: it stays where it
// is.
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

// madeUpWithin is how many of a turn's newest entries are compared with a made-up one.
const madeUpWithin = 256

// madeUp reports whether an entry with an id as runtimes make them up (item-<n>) repeats an entry of its
// turn. It is never shown.
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

// supplement is the place of an entry that is no item of the runtime; its turn was loaded.
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

// item is the place of an item of the runtime; its turn was loaded and is one of the runtime's.
func (p *placer) item(k key, entry *Entry, number int64) int64 {
	b := p.blocks[turnKey{k.session, database.EncodeText(entry.TurnID)}]
	segment := segmentOf(b.last)
	switch {
	case entry.Role == "assistant":
		segment++
	case entry.Role == "user" && b.begun:
		number = 0 // what a turn was begun with stands before what was written to the turn meanwhile
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

// open gives a turn the next free block from one on, below another.
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
	number := min(p.next[region], below-1) // the turns of an endless session share the last block
	p.next[region] = number + 1
	p.blocks[turn].number = number
	p.fresh = append(p.fresh, turn.session, turn.turn, number)
	return nil
}

// behind is the place behind an entry of the same block, and behind those that are there already; 0 when there is none.
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
		return 0, nil // too many stand there: it goes where it would without an anchor
	}
	p.subs[place] = sub + 1
	return place | sub + 1, nil
}

// begin makes a turn one of the runtime's: it gets the next block of those, together with the entries written
// to it before.
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

// flush writes the turns that were given blocks.
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

// lastOfBlock is SQL for where the last entry of a block b of a session stands, 0 when it has none.
func lastOfBlock(session string) string {
	return fmt.Sprintf(`coalesce((select e.place from transcript_entries e
		where e.session_id = %s and e.place >= b.block * %d and e.place < (b.block + 1) * %d order by e.place desc limit 1), 0)`,
		session, int64(1)<<blockShift, int64(1)<<blockShift)
}
