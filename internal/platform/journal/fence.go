package journal

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// holdHead locks the head row. On Postgres, where other processes also write, it reads the row's counts of takeovers
// and of batches without events. It reads the row as it is once locked, not as it was when the statement started.
func (j *Journal) holdHead() string {
	if j.db.Engine() == database.Postgres {
		return `select pos, takeovers, eventless from journal_head where id = 1` + j.db.LockClause()
	}
	return headPosition + j.db.LockClause()
}

// checkFence refuses a batch of a process that no longer holds its node (Options.Owned). It costs one comparison until
// a takeover is counted.
func (j *Journal) checkFence(ctx context.Context, tx database.Tx, held []int64) error {
	if len(held) < 2 || held[1] == j.takeovers || j.opts.CheckOwned == nil {
		return nil
	}
	if err := j.opts.CheckOwned(ctx, tx); err != nil {
		return err
	}
	j.takeovers = held[1]
	return nil
}

type takeoversKey struct{}

// Takeovers returns, within a unit, how many times a node has taken over another node's sessions (CountTakeover). An
// equal count means unchanged ownership. It is 0 where one process writes alone, and outside a unit.
func Takeovers(ctx context.Context) int64 {
	n, _ := ctx.Value(takeoversKey{}).(int64)
	return n
}

// withTakeovers returns the context of a batch's units.
func withTakeovers(ctx context.Context, held []int64) context.Context {
	if len(held) < 2 {
		return ctx
	}
	return context.WithValue(ctx, takeoversKey{}, held[1])
}

// CountTakeover makes every writer of the store check that it still holds its node before it writes anything after this
// transaction. It locks the head, so call it before locking rows that units also lock.
func CountTakeover(ctx context.Context, tx database.Tx) error {
	if _, err := tx.ExecContext(ctx, `update journal_head set takeovers = takeovers + 1 where id = 1`); err != nil {
		return fmt.Errorf("count a takeover: %w", err)
	}
	return nil
}
