package extensions

import (
	"context"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// takenOverHere reports whether a record moved a session to this node, and from which node.
func (d *Dispatcher) takenOverHere(rec *journal.Record) (from string, is bool) {
	if d.opts.Taken == nil {
		return "", false
	}
	from, by, is := d.opts.Taken(&rec.Event)
	return from, is && by == d.opts.NodeID
}

// inherit dispatches the events that a session's former node did not: its records from that node's cursor up to the
// takeover, and its pending dispatches. If the former node returns, it dispatches none of them. After a crash inherit
// runs again, because the takeover is then after this node's cursor.
func (d *Dispatcher) inherit(ctx context.Context, taking *journal.Record, from string) {
	for ctx.Err() == nil {
		err := d.adopt(ctx, taking.SessionID, from)
		if err == nil {
			err = d.catchUpSession(ctx, taking, from)
		}
		if err == nil {
			return
		}
		d.opts.Logger.Warn().Err(err).Str("session", taking.SessionID).Str("from", from).
			Msg("cannot read the events that another node has not dispatched to extensions; retrying")
		select {
		case <-ctx.Done():
		case <-time.After(readPause):
		}
	}
}

// adopt moves the pending dispatches of a session to this node and retries them.
func (d *Dispatcher) adopt(ctx context.Context, sessionID, from string) error {
	var jobs []dispatch
	_, err := d.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
		if jobs, err = sessionDispatches(ctx, tx, from, sessionID); err != nil || len(jobs) == 0 {
			return nil, err
		}
		return nil, moveDispatches(ctx, tx, from, sessionID, d.opts.NodeID)
	})
	for _, job := range jobs {
		if err == nil {
			job.nodeID = d.opts.NodeID
			d.retry.add(job, d.opts.Clock())
		}
	}
	return err
}

// catchUpSession dispatches a session's records after its former node's cursor. It skips plain signals, which are out
// of date.
func (d *Dispatcher) catchUpSession(ctx context.Context, taking *journal.Record, from string) error {
	after, known, err := readCursor(ctx, d.opts.DB.Read(), from)
	if err != nil || !known {
		return err // the former node never dispatched, or its cursor was pruned
	}
	for after < taking.Pos-1 {
		records, err := d.opts.Journal.Read(ctx, journal.Query{After: after, Session: taking.SessionID})
		if err != nil {
			return err
		}
		for i := range records {
			rec := &records[i]
			if rec.Pos >= taking.Pos || ctx.Err() != nil {
				return ctx.Err()
			}
			if rec.SessionID != taking.SessionID {
				continue
			}
			if before, _, taken := d.opts.Taken(&rec.Event); taken { // the former node had not dispatched all records of its own predecessor
				d.inherit(ctx, rec, before)
			} else if d.interesting(rec) {
				d.synthesise(ctx, rec)
			}
		}
		if len(records) == 0 {
			return nil
		}
		after = records[len(records)-1].Pos
	}
	return nil
}
