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
	// maxAge is the age at which news is dropped.
	maxAge = 24 * time.Hour
	// maxWaiting and maxForBrowser limit the pending messages for one target; further ones are dropped.
	maxWaiting    = 10_000
	maxForBrowser = 100
	// behind is the maximum number of events without news before the cursor is stored.
	behind = 1000
)

// cursor is the position in the journal: as stored, and as read. skipped means that it skipped events because there was
// no target.
type cursor struct {
	stored, read int64
	skipped      bool
}

func (n *Notifier) follow(ctx context.Context) {
	ticker := time.NewTicker(n.opts.Pause)
	defer ticker.Stop()
	at, failing := cursor{stored: -1, read: -1}, false
	for {
		err := n.catchUp(ctx, &at)
		if err != nil && ctx.Err() == nil && !failing {
			n.opts.Logger.Warn().Err(err).Msg("cannot follow the journal for notifications; retrying")
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// catchUp reads all new events. at.stored is -1 until it reads the cursor, and again after another process moved it.
func (n *Notifier) catchUp(ctx context.Context, at *cursor) (err error) {
	if at.stored < 0 {
		if *at, err = n.begin(ctx); err != nil {
			return err
		}
	}
	head := n.opts.Head()
	hasTargets, err := n.hasTargets(ctx)
	if err != nil {
		return err
	}
	if !hasTargets {
		at.read, at.skipped = max(at.read, head), true
		if at.read-at.stored < behind {
			return nil
		}
		return n.move(ctx, at, nil)
	}
	if at.skipped { // a new target gets none of the skipped events, even after a crash
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
		var messages []Message
		for i := range records {
			if news, is := n.opts.NewsOf(&records[i]); is && time.Since(time.UnixMilli(records[i].Time)) < maxAge {
				messages = append(messages, Message{News: news, At: records[i].Time})
			}
		}
		at.read = records[len(records)-1].Pos
		if len(messages) == 0 && at.read-at.stored < behind {
			continue
		}
		if err := n.move(ctx, at, messages); err != nil || at.stored < 0 {
			return err
		}
	}
	return nil
}

// hasTargets reports whether there is a target or a subscribed browser.
func (n *Notifier) hasTargets(ctx context.Context) (bool, error) {
	if len(n.opts.Targets) > 0 {
		return true, nil
	}
	return n.opts.Push.hasSubscribers(ctx)
}

// move stores the cursor with the messages of its events. If another process did so first, the next catchUp rereads the
// cursor.
func (n *Notifier) move(ctx context.Context, at *cursor, messages []Message) error {
	err := n.note(ctx, *at, messages)
	if at.stored = at.read; err != nil {
		at.stored = -1
	}
	if errors.Is(err, errElsewhere) {
		return nil
	}
	return err
}

// errElsewhere means that another process handled these events.
var errElsewhere = errors.New("the journal was followed elsewhere meanwhile")

// begin reads the cursor. A first start begins at the head, without earlier news.
func (n *Notifier) begin(ctx context.Context) (at cursor, err error) {
	err = n.opts.DB.Read().QueryRowContext(ctx, `select pos from notify_state where id = 1`).Scan(&at.stored)
	if err != nil {
		return cursor{stored: -1, read: -1}, fmt.Errorf("read the notification cursor: %w", err)
	}
	oldest, head, err := journal.Bounds(ctx, n.opts.DB.Read())
	if err != nil {
		return cursor{stored: -1, read: -1}, err
	}
	at.read = max(at.stored, oldest-1)
	if at.stored < 0 || at.stored > head { // a new cursor, or one of another store
		at.read = head
	}
	if at.read == at.stored {
		return at, nil
	}
	if err := n.note(ctx, at, nil); err != nil {
		if errors.Is(err, errElsewhere) {
			err = nil
		}
		return cursor{stored: -1, read: -1}, err
	}
	return cursor{stored: at.read, read: at.read}, nil
}

// note stores messages with the cursor, in one transaction; errElsewhere if another process did.
func (n *Notifier) note(ctx context.Context, at cursor, messages []Message) error {
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
		if len(messages) == 0 {
			return nil
		}
		for _, l := range n.lanes {
			if dropped[l], err = n.queue(ctx, tx, l, messages); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errElsewhere) {
		return err
	}
	if err != nil {
		return fmt.Errorf("store notifications: %w", err)
	}
	for _, l := range n.lanes {
		for range dropped[l] {
			n.opts.Ended(l.name, Dropped)
		}
		if dropped[l] > 0 {
			n.opts.Logger.Error().Str("target", l.name).Int("messages", dropped[l]).
				Msg("notification queue full; new notifications are dropped until the target accepts some")
		}
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// queue stores messages for the targets of a lane, and returns the number of messages beyond the limit.
func (n *Notifier) queue(ctx context.Context, tx database.Tx, l *lane, messages []Message) (dropped int, err error) {
	targets, err := l.targets(ctx, tx)
	for _, target := range targets {
		var more int
		if more, err = n.queueFor(ctx, tx, target, l.room, messages); err != nil {
			break
		}
		dropped += more
	}
	return dropped, err
}

// queueFor stores messages for one target, at most room of them pending.
func (n *Notifier) queueFor(ctx context.Context, tx database.Tx, target string, room int, messages []Message) (
	dropped int, err error) {
	var waiting int
	err = tx.QueryRowContext(ctx, `select count(*) from notify_messages where target = $1`, target).Scan(&waiting)
	if err != nil {
		return 0, err
	}
	room = min(max(room-waiting, 0), len(messages))
	for _, m := range messages[:room] {
		news, err := json.Marshal(m.News)
		if err != nil {
			return 0, err
		}
		_, err = tx.ExecContext(ctx, `insert into notify_messages (id, target, at, due, attempts, news)
			values ($1, $2, $3, $4, 0, $5)`, "msg_"+uuid.NewString(), target, m.At, m.At, string(news))
		if err != nil {
			return 0, err
		}
	}
	return len(messages) - room, nil
}
