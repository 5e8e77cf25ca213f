package retention

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/services/session/store"
)

// EntriesPerUnit and TurnsPerUnit limit the rows that one transaction removes; prunePage limits the sessions that one
// read lists.
const (
	EntriesPerUnit = 200
	TurnsPerUnit   = 10
	prunePage      = 200
)

// rolledBack prunes turns that were rolled back and are no longer visible.
func (p pruner) rolledBack(ctx context.Context) error {
	if p.keep.Records == 0 {
		return nil
	}
	sessions, err := database.ReadTexts(ctx, p.db.Read(), "find turns rolled back long ago",
		`select distinct session_id from rolled_back_turns where rolled_back_at < $1`, p.before(p.keep.Records))
	if err != nil {
		return err
	}
	for _, id := range sessions {
		err := p.sweepTurns(ctx, "rolled_back_turns", id, func(ctx context.Context, q database.Querier) ([]string, error) {
			return database.ReadTexts(ctx, q, "find turns rolled back long ago",
				`select turn_id from rolled_back_turns where session_id = $1 and rolled_back_at < $2 limit $3`,
				database.EncodeText(id), p.before(p.keep.Records), TurnsPerUnit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// turns prunes the turns of workers' sessions, and those of all other sessions if the policy limits them.
func (p pruner) turns(ctx context.Context) error {
	all := p.keep.Turns > 0 || p.keep.MaxTurns > 0
	if !all && p.keep.Records == 0 {
		return nil
	}
	type candidate struct {
		id    string
		owned int64
	}
	for last := ""; ; {
		sessions, err := database.ReadAll(ctx, p.db.Read(), "list the sessions to prune",
			func(row database.Row) (one candidate, err error) {
				err = row.Scan(&one.id, &one.owned)
				one.id = database.DecodeText(one.id)
				return one, err
			}, `select id, system_owned from sessions where id > $1 and system_owned >= $2 order by id limit $3`,
			database.EncodeText(last), 1-store.Flag(all), prunePage)
		if err != nil || len(sessions) == 0 {
			return err
		}
		for _, one := range sessions {
			age := p.keep.Turns
			if one.owned != 0 && p.keep.Records > 0 && (age == 0 || p.keep.Records < age) {
				age = p.keep.Records
			}
			if err := p.turnsOf(ctx, one.id, age); err != nil {
				return err
			}
		}
		last = sessions[len(sessions)-1].id
	}
}

// turnsOf prunes a session's turns that ended more than age ago (0: by number alone), and entries outside turns.
func (p pruner) turnsOf(ctx context.Context, sessionID string, age time.Duration) error {
	err := p.sweepTurns(ctx, "turns", sessionID, func(ctx context.Context, q database.Querier) ([]string, error) {
		return p.oldTurns(ctx, q, sessionID, age)
	})
	if err != nil || age == 0 {
		return err
	}
	return p.sweepSession(ctx, "transcript_entries", sessionID,
		func(ctx context.Context, q database.Querier) (bool, error) {
			return p.entries.HasOlder(ctx, q, sessionID, p.before(age))
		}, func(ctx context.Context, tx database.Tx) (int64, error) {
			return p.entries.DeleteOlder(ctx, tx, sessionID, p.before(age), EntriesPerUnit)
		})
}

// oldTurns lists some turns to prune, oldest first. The newest turn always stays.
func (p pruner) oldTurns(ctx context.Context, q database.Querier, sessionID string, age time.Duration) (
	[]string, error) {
	key, what := database.EncodeText(sessionID), "find the old turns of session "+sessionID
	const ended = `select turn_id from turns t where session_id = $1 and status <> 'inProgress' and completed_at > 0`
	if age > 0 {
		old, err := database.ReadTexts(ctx, q, what,
			ended+` and completed_at < $2 and exists (select 1 from turns n where n.session_id = t.session_id
			and (n.started_at > t.started_at or (n.started_at = t.started_at and n.turn_id > t.turn_id))) order by started_at, turn_id limit $3`,
			key, p.before(age), TurnsPerUnit)
		if err != nil || len(old) > 0 {
			return old, err
		}
	}
	if p.keep.MaxTurns == 0 {
		return nil, nil
	}
	return database.ReadTexts(ctx, q, what, ended+` order by started_at desc, turn_id desc limit $3 offset $2`, key,
		p.keep.MaxTurns, TurnsPerUnit)
}

// sweepTurns removes the turns that old lists, until it lists none or the session is in use.
func (p pruner) sweepTurns(ctx context.Context, kind, sessionID string,
	old func(ctx context.Context, q database.Querier) ([]string, error)) error {
	free := func(ctx context.Context, q database.Querier) ([]string, error) {
		if p.keep.InUse != nil {
			if used, err := p.keep.InUse(ctx, q, sessionID); err != nil || used {
				return nil, err
			}
		}
		return old(ctx, q)
	}
	return p.sweepSession(ctx, kind, sessionID, func(ctx context.Context, q database.Querier) (bool, error) {
		turns, err := free(ctx, q)
		return len(turns) > 0, err
	}, func(ctx context.Context, tx database.Tx) (int64, error) {
		turns, err := free(ctx, tx)
		for _, id := range turns {
			if err == nil {
				err = p.removeTurn(ctx, tx, sessionID, id)
			}
		}
		return int64(len(turns)), err
	})
}

// removeTurn removes all rows of a turn that has ended.
func (p pruner) removeTurn(ctx context.Context, tx database.Tx, sessionID, turnID string) error {
	entries, err := p.entries.DeleteTurn(ctx, tx, sessionID, turnID)
	if err != nil {
		return err
	}
	key := database.EncodeText(sessionID)
	if len(entries) > 0 {
		args, marks := []any{key}, make([]string, len(entries))
		for i, id := range entries {
			args, marks[i] = append(args, database.EncodeText(id)), "$"+strconv.Itoa(i+2)
		}
		if _, err := tx.ExecContext(ctx, `delete from runtime_messages where session_id = $1 and message_id in (`+
			strings.Join(marks, ", ")+`)`, args...); err != nil {
			return fmt.Errorf("delete the messages of turn %s of session %s: %w", turnID, sessionID, err)
		}
	}
	for _, table := range []string{"turns", "message_authors"} {
		if _, err := tx.ExecContext(ctx, `delete from `+table+` where session_id = $1 and turn_id = $2`, key,
			database.EncodeText(turnID)); err != nil {
			return fmt.Errorf("delete turn %s of session %s: %w", turnID, sessionID, err)
		}
	}
	return nil
}
