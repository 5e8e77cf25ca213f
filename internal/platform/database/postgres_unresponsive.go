package database

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	// again is the pause between two probes of an address that does not answer.
	again = time.Second
	// forget is how long an address is probed, because it may be permanently gone.
	forget = 10 * time.Minute
)

// address is the target of connections.
type address struct{ network, at string }

// dialing is a connection attempt.
type dialing struct {
	to   address
	stop context.CancelCauseFunc
}

// dialUnlessUnresponsive opens a connection, or returns errUnresponsive for an address that does not answer.
func (o *connWatchdog) dialUnlessUnresponsive(ctx context.Context, network, at string) (net.Conn, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil) // it does not affect an open connection
	d := &dialing{address{network, at}, stop}
	o.mu.Lock()
	_, unresponsive := o.unresponsive[d.to]
	if !unresponsive {
		o.dialing[d] = struct{}{}
	}
	o.mu.Unlock()
	if unresponsive {
		return nil, errUnresponsive
	}
	late := time.AfterFunc(silence, func() { o.markUnresponsive(d.to) })
	conn, err := o.dial(ctx, network, at)
	late.Stop()
	o.mu.Lock()
	delete(o.dialing, d)
	o.mu.Unlock()
	if err != nil && errors.Is(context.Cause(ctx), errUnresponsive) {
		return nil, errUnresponsive
	}
	return conn, err
}

// markUnresponsive makes callers skip an address until it answers. They use the next address, or get an error at once.
// It also cancels connection attempts to the address. Otherwise each caller would wait for the connect timeout, and
// many would then have no time for a second address.
func (o *connWatchdog) markUnresponsive(at address) {
	o.mu.Lock()
	_, known := o.unresponsive[at]
	if known || o.closed {
		o.mu.Unlock()
		return
	}
	o.unresponsive[at] = struct{}{}
	for d := range o.dialing {
		if d.to == at {
			d.stop(errUnresponsive)
		}
	}
	o.probes.Go(func() {
		o.awaitAnswer(at)
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.unresponsive, at)
	})
	o.mu.Unlock()
	o.cutThose(func(l *monitoredConn) bool { return l.to == at && !l.made.Load() })
}

// awaitAnswer probes an address until it answers.
func (o *connWatchdog) awaitAnswer(at address) {
	ctx, cancel := context.WithTimeout(o.ctx, forget)
	defer cancel()
	pause := time.NewTicker(again)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		if o.answers(ctx, at) {
			return
		}
		pause.Reset(again)
	}
}

func (o *connWatchdog) answers(ctx context.Context, at address) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, answers, err := o.probe(ctx, at)
	if err == nil {
		_ = conn.Close(ctx) // it was only made to check for an answer
	}
	return answers
}
