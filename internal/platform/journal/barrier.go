package journal

import (
	"context"
	"sync/atomic"

	"harness/internal/platform/database"
)

// barrier delays reads until they survive the loss of the database's primary. A row is visible there before the
// standby has it when its commit does not wait (early release), or when its wait was broken off. A later
// transaction that writes and waits comes after it in the database's log.
//
// The barrier remembers the position up to which rows survive, so no reader waits twice. Many concurrent
// readers share one transaction.
type barrier struct {
	turn    chan struct{} // a token while no goroutine makes a transaction
	durable atomic.Pointer[durable]
}

// headState is where the head stood: its position, and how many batches without events there had been. It moves on with every
// batch.
type headState struct{ pos, eventless int64 }

// headMarker reads it.
const headMarker = `select pos, eventless from journal_head where id = 1`

// durable is a server's certainty that everything up to a marker survives. Another server may have other data there,
// such as a former primary that does not know it yet.
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

// survives notes that everything up to a marker at a server does.
func (b *barrier) survives(server string, m headState) {
	for {
		last := b.durable.Load()
		if server == "" || last.covers(server, m) || b.durable.CompareAndSwap(last, &durable{server, m}) {
			return
		}
	}
}

// pass waits until the data read on a connection, up to a marker, survives. before is the certainty at the time of the
// read.
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
		// The server may have lost the data in a crash, and have other data instead. Then it has also ended this
		// connection.
		return conn.PingContext(ctx)
	}
	head, err := conn.Settle(ctx, headMarker)
	if err == nil {
		b.survives(server, headState{head[0], head[1]})
	}
	return err
}

// settled reads events from the store, and returns when what it has read, up to the position that read returns (0:
// nothing), may be shown.
func (r *reader) settled(ctx context.Context, read func(q database.Querier) (last int64, err error)) error {
	return r.settledUpTo(ctx, func(q database.Querier) (headState, error) {
		last, err := read(q)
		return headState{pos: last}, err
	})
}

// settledUpTo is settled up to a marker.
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
