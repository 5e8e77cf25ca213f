package database

import (
	"context"
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

func (o *lookout) dialUnlessSilent(ctx context.Context, network, at string) (net.Conn, error) {
	to := address{network, at}
	o.mu.Lock()
	_, silent := o.silent[to]
	o.mu.Unlock()
	if silent {
		return nil, errSilent
	}
	late := time.AfterFunc(silence, func() { o.setSilent(to) }) // this one waits on; others pass over it
	defer late.Stop()
	return o.dial(ctx, network, at)
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
