package journal

import (
	"context"
	"sync/atomic"

	"harness/internal/platform/database"
)

// barrier delays reads until the rows they read survive the loss of the database's primary. A row is visible on the
// primary before the standby has it if its commit does not wait (early release), or if its wait was interrupted. A
// later transaction that writes and waits follows it in the database's log.
//
// The barrier remembers the position up to which rows survive, so no reader waits twice. Concurrent readers share one
// transaction.
type barrier struct {
	turn    chan struct{} // a token while no goroutine makes a transaction
	durable atomic.Pointer[durable]
}

// headState is a state of the head: its position and its count of batches without events. Every batch changes it.
type headState struct{ pos, eventless int64 }

// headMarker reads the headState.
const headMarker = `select pos, eventless from journal_head where id = 1`

// durable records that everything up to a marker survives on a server. Another server may have other data there, for
// example a former primary that has not been demoted yet.
type durable struct {
	server string
	upTo   headState
}

func (d *durable) covers(server string, m headState) bool {
	return d != nil && server != "" && d.server == server && m.pos <= d.upTo.pos && m.eventless <= d.upTo.eventless
}

func newBarrier() *barrier {
	b := &barrier{turn: make(chan struct{}, 1)}
	b.turn <- struct{}{}
	return b
}

// survives records that everything up to a marker on a server is durable.
func (b *barrier) survives(server string, m headState) {
	for {
		last := b.durable.Load()
		if server == "" || last.covers(server, m) || b.durable.CompareAndSwap(last, &durable{server, m}) {
			return
		}
	}
}

// pass waits until the data read on a connection, up to a marker, survives. before is the durable state at the time of
// the read.
func (b *barrier) pass(ctx context.Context, conn database.Conn, before *durable, m headState) error {
	server := conn.Server()
	if before.covers(server, m) {
		return nil
	}
	select {
	case <-b.turn:
		defer func() { b.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.durable.Load().covers(server, m) {
		// The server may have lost the data in a crash and have other data instead. In that case it has also closed
		// this connection.
		return conn.PingContext(ctx)
	}
	head, err := conn.Settle(ctx, headMarker)
	if err == nil {
		b.survives(server, headState{head[0], head[1]})
	}
	return err
}

// settled reads events from the store. It returns once the events read, up to the position that read returns (0:
// nothing), survive and may be shown.
func (r *reader) settled(ctx context.Context, read func(q database.Querier) (last int64, err error)) error {
	return r.settledUpTo(ctx, func(q database.Querier) (headState, error) {
		last, err := read(q)
		return headState{pos: last}, err
	})
}

// settledUpTo is settled for reads up to a marker.
func (r *reader) settledUpTo(ctx context.Context, read func(q database.Querier) (last headState, err error)) error {
	if r.barrier == nil {
		_, err := read(r.db.Read())
		return err
	}
	return r.db.ReadOn(ctx, func(conn database.Conn) error {
		before := r.barrier.durable.Load()
		last, err := read(conn)
		if err != nil || last == (headState{}) {
			return err
		}
		return r.barrier.pass(ctx, conn, before, last)
	})
}
