// Package bus notifies the other nodes on one Postgres of new journal events, so that they read them at once instead of
// at their next poll.
//
// It owns when a node sends a notification, and what it does when it receives one. It carries no events: notifications
// may be lost, and the poll finds everything. It must never know what events are about.
package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
)

const (
	// gather is the minimum time between two notifications of a node: events committed in between share one
	// notification.
	gather = 2 * time.Millisecond
	// checkTimeout bounds a Postgres query over a channel.
	checkTimeout = 5 * time.Second
	// firstRetry and lastRetry bound the pause before a lost channel is reopened.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Options configure a Bus.
type Options struct {
	DB *database.DB
	// Self names this node: its own notifications are ignored.
	Self string
	// Poll is called whenever other nodes may have new events: on a notification, and after a time without a
	// listener. It must not block.
	Poll   func()
	Logger zerolog.Logger
	// CheckAfter is how long a channel may be idle before it is checked (default 15 s).
	CheckAfter time.Duration
	// Sent and Received, when set, are called for each notification sent, and for each received from another node.
	Sent, Received func()
}

// Bus notifies other nodes of new events, and receives their notifications.
type Bus struct {
	opts    Options
	pending wake.Signal // events to announce

	lifecycle sync.Mutex
	started   bool
	stopped   bool
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// New makes a bus. It sends and receives nothing before Start.
func New(opts Options) *Bus {
	if opts.CheckAfter <= 0 {
		opts.CheckAfter = 15 * time.Second
	}
	return &Bus{opts: opts, pending: wake.New()}
}

// Announce notifies the other nodes of new events. It never blocks; several calls may share one notification.
func (b *Bus) Announce() {
	b.pending.Set()
}

// Start starts sending and receiving. It retries until it has a channel. Calling it twice is allowed; after Stop it
// does nothing.
func (b *Bus) Start(ctx context.Context) error {
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	if b.started || b.stopped {
		return nil
	}
	b.started = true
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.running.Go(func() { b.keep(ctx, b.announceLoop) })
	b.running.Go(func() { b.keep(ctx, b.listenLoop) })
	return nil
}

// Stop stops sending and receiving, and waits for both to end. Calling it twice is allowed.
func (b *Bus) Stop(context.Context) error {
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	b.stopped = true
	if b.started {
		b.cancel()
		b.running.Wait()
	}
	return nil
}

// keep calls use with a channel until the bus is stopped. When the channel is lost, it opens another one.
func (b *Bus) keep(ctx context.Context, use func(context.Context, *database.Channel) error) {
	wait := firstRetry
	for {
		began := time.Now()
		err := b.open(ctx, use)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastRetry {
			wait = firstRetry // it worked
		}
		b.opts.Logger.Warn().Err(err).Dur("again_in_ms", wait).
			Msg("notification channel lost; polling for events of other nodes until it is back")
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, lastRetry)
	}
}

func (b *Bus) open(ctx context.Context, use func(context.Context, *database.Channel) error) error {
	channel, err := b.opts.DB.OpenChannel(ctx)
	if err != nil {
		return err
	}
	err = use(ctx, channel)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return errors.Join(err, channel.Close(closing))
}

// announceLoop sends a notification for new events, at most one per gather.
func (b *Bus) announceLoop(ctx context.Context, channel *database.Channel) error {
	for {
		select {
		case <-b.pending:
		case <-ctx.Done():
			return ctx.Err()
		}
		within, cancel := context.WithTimeout(ctx, checkTimeout)
		err := channel.Notify(within, b.opts.Self)
		cancel()
		if err != nil {
			b.Announce() // the events are not announced yet
			return err
		}
		if b.opts.Sent != nil {
			b.opts.Sent()
		}
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listenLoop polls whenever another node sends a notification.
func (b *Bus) listenLoop(ctx context.Context, channel *database.Channel) error {
	if err := channel.Listen(ctx); err != nil {
		return err
	}
	b.opts.Poll() // notifications sent before LISTEN were lost
	for {
		within, cancel := context.WithTimeout(ctx, b.opts.CheckAfter)
		sender, err := channel.Receive(within)
		timedOut := within.Err() != nil
		cancel()
		switch {
		case err == nil && sender == b.opts.Self:
		case err == nil:
			b.opts.Poll()
			if b.opts.Received != nil {
				b.opts.Received()
			}
		case ctx.Err() != nil || !timedOut:
			return err
		default:
			within, cancel := context.WithTimeout(ctx, checkTimeout)
			err := channel.Check(within)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}
