package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"harness/internal/platform/database"
)

// committedAnyway resolves the one doubt a commit can leave: the connection broke before the answer came. It retries
// for as long as needed, under the head's lock. A backend that is still committing our batch holds that lock, so the
// result is final. Records that are in the store get their sequence numbers, which the lost answer carried.
func (j *Journal) committedAnyway(ctx context.Context, cause error, name string, records []Record) (committed bool) {
	if !errors.Is(cause, database.ErrCommit) {
		return false
	}
	if database.Refused(cause) {
		_ = j.refused(cause) // the check may take long, and other callers wait
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		err := j.db.Update(ctx, func(tx database.Tx) error {
			committed = false
			if _, err := j.lockHead(ctx, tx); err != nil {
				return err
			}
			var last string
			if err := tx.QueryRowContext(ctx, `select batch from journal_head where id = 1`).Scan(&last); err != nil {
				return fmt.Errorf("read the last batch: %w", err)
			}
			if len(records) == 0 {
				committed = strings.Contains(last, signature(name))
				return nil
			}
			// Another process may have signed since; our records keep their positions.
			stored, err := j.readFrom(ctx, tx, selectAfter, records[0].Pos-1, len(records))
			committed = err == nil && renumber(records, stored)
			return err
		})
		// The answer counts once this transaction is durable: an isolated primary shows rows that it never replicated.
		if err == nil {
			return committed
		}
		if wait == firstRetry {
			j.opts.Logger.Warn().Err(errors.Join(cause, err)).Msg("a commit's outcome is unknown; reading it again")
		}
		if !database.Transient(err) {
			return false
		}
		_ = j.refused(err)
		if !j.pause(ctx, wait) {
			return false
		}
	}
}

// signature returns a batch's name as stored in the head, which has the last names of several writers.
func signature(name string) string { return name + ";" }

// renumber gives records the per-session sequence numbers they are stored with, and reports whether they are stored.
func renumber(records, stored []Record) bool {
	if len(stored) != len(records) {
		return false
	}
	for i := range records {
		if !sameRecord(records[i], stored[i]) {
			return false
		}
	}
	for i := range records {
		records[i].Seq = stored[i].Seq
	}
	return true
}

func sameRecord(a, b Record) bool {
	return a.Pos == b.Pos && a.SessionID == b.SessionID && a.TurnID == b.TurnID && a.ItemID == b.ItemID && a.Type == b.Type &&
		a.Time == b.Time && a.TraceID == b.TraceID && a.SpanID == b.SpanID && string(a.Payload) == string(b.Payload)
}
