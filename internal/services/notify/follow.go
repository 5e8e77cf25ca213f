package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

const (
	// maxAge is how old news get before they are dropped.
	maxAge = 24 * time.Hour
	// maxWaiting and maxForBrowser are how many messages wait for one target; those beyond are dropped.
	maxWaiting    = 10_000
	maxForBrowser = 100
	// behind is how many events without news may pass before it is stored that they did.
	behind = 1000
)

// place is how far the journal is followed: as stored, and as read; skipped says that what is between was not looked at,
// since there was nobody to tell.
type place struct {
	stored, read int64
	skipped      bool
}

func (n *Notifier) follow(ctx context.Context) {
	ticker := time.NewTicker(n.opts.Pause)
	defer ticker.Stop()
	at, failing := place{stored: -1, read: -1}, false
	for {
		err := n.catchUp(ctx, &at)
		if err != nil && ctx.Err() == nil && !failing {
			n.opts.Logger.Warn().Err(err).Msg("what is to be told to others cannot be read; it is tried again")
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// catchUp takes all events there are. at.stored is -1 until the place is read, and again after another process moved it.
func (n *Notifier) catchUp(ctx context.Context, at *place) (err error) {
	if at.stored < 0 {
		if *at, err = n.begin(ctx); err != nil {
			return err
		}
	}
	head := n.opts.Head()
	anybody, err := n.anybody(ctx)
	if err != nil {
		return err
	}
	if !anybody {
		at.read, at.skipped = max(at.read, head), true
		if at.read-at.stored < behind {
			return nil
		}
		return n.move(ctx, at, nil)
	}
	if at.skipped { // who is told from now on is not told of it, after a crash either
		if at.skipped = false; at.read > at.stored {
			if err := n.move(ctx, at, nil); err != nil || at.stored < 0 {
				return err
			}
		}
	}
	for at.read < n.opts.Head() {
		records, err := n.opts.Read(ctx, journal.Query{After: at.read, Short: true})
		if err != nil || len(records) == 0 {
			return err
		}
		var told []Message
		for i := range records {
			if news, is := n.opts.Tells(&records[i]); is && time.Since(time.UnixMilli(records[i].Time)) < maxAge {
				told = append(told, Message{News: news, At: records[i].Time})
			}
		}
		at.read = records[len(records)-1].Pos
		if len(told) == 0 && at.read-at.stored < behind {
			continue
		}
		if err := n.move(ctx, at, told); err != nil || at.stored < 0 {
			return err
		}
	}
	return nil
}

// anybody tells whether there is somebody to tell.
func (n *Notifier) anybody(ctx context.Context) (bool, error) {
	if len(n.opts.Targets) > 0 {
		return true, nil
	}
	return n.opts.Push.anybody(ctx)
}

// move stores how far it was read with what is to be told. Where another process did, the place is read again.
func (n *Notifier) move(ctx context.Context, at *place, told []Message) error {
	err := n.note(ctx, *at, told)
	if at.stored = at.read; err != nil {
		at.stored = -1
	}
	if errors.Is(err, errElsewhere) {
		return nil
	}
	return err
}

// errElsewhere: another process took these events.
var errElsewhere = errors.New("the journal was followed elsewhere meanwhile")

// begin reads how far others are told. Who is told for the first time is not told what was before.
func (n *Notifier) begin(ctx context.Context) (at place, err error) {
	err = n.opts.DB.Read().QueryRowContext(ctx, `select pos from notify_state where id = 1`).Scan(&at.stored)
	if err != nil {
		return place{stored: -1, read: -1}, fmt.Errorf("read up to where others are told: %w", err)
	}
	oldest, head, err := journal.Bounds(ctx, n.opts.DB.Read())
	if err != nil {
		return place{stored: -1, read: -1}, err
	}
	at.read = max(at.stored, oldest-1)
	if at.stored < 0 || at.stored > head { // new, or of another store
		at.read = head
	}
	if at.read == at.stored {
		return at, nil
	}
	if err := n.note(ctx, at, nil); err != nil {
		if errors.Is(err, errElsewhere) {
			err = nil
		}
		return place{stored: -1, read: -1}, err
	}
	return place{stored: at.read, read: at.read}, nil
}

// note stores what is to be told with how far it was read, in one transaction; errElsewhere when another process did.
func (n *Notifier) note(ctx context.Context, at place, told []Message) error {
	dropped := map[*lane]int{}
	err := n.opts.DB.Update(ctx, func(tx database.Tx) error {
		clear(dropped)
		result, err := tx.ExecContext(ctx, `update notify_state set pos = $1 where id = 1 and pos = $2`, at.read, at.stored)
		if err != nil {
			return err
		}
		if rows, err := result.RowsAffected(); err != nil || rows == 0 {
			return errors.Join(err, errElsewhere)
		}
		if len(told) == 0 {
			return nil
		}
		for _, l := range n.lanes {
			if dropped[l], err = n.queue(ctx, tx, l, told); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errElsewhere) {
		return err
	}
	if err != nil {
		return fmt.Errorf("store what is to be told: %w", err)
	}
	for _, l := range n.lanes {
		for range dropped[l] {
			n.opts.Ended(l.name, Dropped)
		}
		if dropped[l] > 0 {
			n.opts.Logger.Error().Str("target", l.name).Int("messages", dropped[l]).
				Msg("too many notifications wait; new ones are dropped until the target takes some")
		}
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// queue stores messages for the targets of a lane, and tells how many were too many.
func (n *Notifier) queue(ctx context.Context, tx database.Tx, l *lane, told []Message) (dropped int, err error) {
	targets, err := l.targets(ctx, tx)
	for _, target := range targets {
		var more int
		if more, err = n.queueFor(ctx, tx, target, l.room, told); err != nil {
			break
		}
		dropped += more
	}
	return dropped, err
}

// queueFor stores messages for one target, of which no more than room wait.
func (n *Notifier) queueFor(ctx context.Context, tx database.Tx, target string, room int, told []Message) (dropped int, err error) {
	var waiting int
	err = tx.QueryRowContext(ctx, `select count(*) from notify_messages where target = $1`, target).Scan(&waiting)
	if err != nil {
		return 0, err
	}
	room = min(max(room-waiting, 0), len(told))
	for _, m := range told[:room] {
		news, err := json.Marshal(m.News)
		if err != nil {
			return 0, err
		}
		due := m.At
		if m.Kind.waits() {
			due += n.opts.After.Milliseconds()
		}
		_, err = tx.ExecContext(ctx, `insert into notify_messages (id, target, at, due, attempts, news)
			values ($1, $2, $3, $4, 0, $5)`, "msg_"+uuid.NewString(), target, m.At, due, string(news))
		if err != nil {
			return 0, err
		}
	}
	return len(told) - room, nil
}
