package database

import (
	"context"
	"errors"
	"net"
	"time"
)

const (
	// again is the pause between two questions to an address at which nobody answers.
	again = time.Second
	// forget is how long it is asked: the address may have gone for good.
	forget = 10 * time.Minute
)

// address is where connections are made to.
type address struct{ network, at string }

// dialing is a connection's line that is being made.
type dialing struct {
	to   address
	stop context.CancelCauseFunc
}

// dialUnlessSilent makes a connection's line. errSilent when nobody answers at its address.
func (o *lookout) dialUnlessSilent(ctx context.Context, network, at string) (net.Conn, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil) // of a line that is made it stops nothing
	d := &dialing{address{network, at}, stop}
	o.mu.Lock()
	_, silent := o.silent[d.to]
	if !silent {
		o.dialing[d] = struct{}{}
	}
	o.mu.Unlock()
	if silent {
		return nil, errSilent
	}
	late := time.AfterFunc(silence, func() { o.setSilent(d.to) })
	conn, err := o.dial(ctx, network, at)
	late.Stop()
	o.mu.Lock()
	delete(o.dialing, d)
	o.mu.Unlock()
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return nil, errSilent
	}
	return conn, err
}

// setSilent has callers pass over an address, to the next one or with an error at once, until somebody answers there;
// connections that are being made to it are given up. Each caller would wait for it as long as it takes to make a
// connection, and many have no time for a second address then.
func (o *lookout) setSilent(at address) {
	o.mu.Lock()
	_, known := o.silent[at]
	if known || o.closed {
		o.mu.Unlock()
		return
	}
	o.silent[at] = struct{}{}
	for d := range o.dialing {
		if d.to == at {
			d.stop(errSilent)
		}
	}
	o.looking.Go(func() {
		o.awaitAnswer(at)
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.silent, at)
	})
	o.mu.Unlock()
	o.cutThose(func(l *line) bool { return l.to == at && !l.made.Load() })
}

// awaitAnswer asks an address until somebody answers.
func (o *lookout) awaitAnswer(at address) {
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

func (o *lookout) answers(ctx context.Context, at address) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	conn, answers, err := o.ask(ctx, at)
	if err == nil {
		_ = conn.Close(ctx) // it was made to be answered
	}
	return answers
}
