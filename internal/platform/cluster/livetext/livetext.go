// Package livetext carries ephemeral events to the nodes whose clients follow their session.
//
// It owns which node gets which event, and when that node shows it: in order with the stored events, or never. Events
// may be lost in transit, because each is stored later. The package never makes the journal wait. It must never know
// what events are about.
package livetext

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/wake"
	"harness/internal/platform/journal"
)

// Path is the route on which nodes subscribe to each other's live text.
const Path = "/nodes/early"

// Journal is the Carrier's view of the event log; *journal.Journal implements it.
type Journal interface {
	Subscribe(fn journal.Subscriber) (head int64, cancel func())
	PassOn(choose func() []journal.Event)
}

// Nodes are the other nodes.
type Nodes interface {
	// Runners returns the nodes that may have events to send.
	Runners(ctx context.Context) ([]string, error)
	// Open starts a long-lived request to one of them.
	Open(ctx context.Context, node, path string, body io.Reader) (*http.Response, error)
}

// Options configure a Carrier. Counting functions may be nil.
type Options struct {
	// Self names this node.
	Self string
	// Watched returns the sessions that clients follow here; all is true if they follow every session.
	Watched func() (sessions map[string]struct{}, all bool)
	// Meta encodes journal.Event.Known.
	Meta func(known any) (json.RawMessage, error)
	// TakeoverOf reports whether an event moves its session to another node, and returns the old and the new owner.
	TakeoverOf func(event *journal.Event) (from, by string, is bool)
	// CheckLease fails while another node may have ended this one; the Carrier then sends and shows nothing. nil: it
	// never fails.
	CheckLease func() error
	Logger     zerolog.Logger
	// Poll is the interval at which the list of nodes is read (default 2 s). Again is the pause before a node without
	// the route is tried again (default 30 s).
	Poll, Again time.Duration
	// Sent, Received and Dropped count events: sent to another node, received and shown, and dropped in either
	// direction.
	Sent, Received, Dropped func(events int)
}

// Carrier sends ephemeral events to other nodes, and shows theirs.
type Carrier struct {
	opts    Options
	changed chan struct{} // closed and replaced whenever the followed sessions change
	release wake.Signal   // set when an event may be due

	log   Journal // set by Start, as is nodes
	nodes Nodes

	mu        sync.Mutex
	listeners map[*listener]struct{} // other nodes
	left      map[string]struct{}    // sessions that this node no longer owns
	held      held

	lifecycle sync.Mutex
	started   bool
	stopped   bool
	cancel    context.CancelFunc
	ended     context.Context // done once requests are no longer answered
	running   sync.WaitGroup
}

// New makes a carrier. It carries nothing before Start.
func New(opts Options) *Carrier {
	if opts.Poll <= 0 {
		opts.Poll = 2 * time.Second
	}
	if opts.Again <= 0 {
		opts.Again = 30 * time.Second
	}
	for _, count := range []*func(int){&opts.Sent, &opts.Received, &opts.Dropped} {
		if *count == nil {
			*count = func(int) {}
		}
	}
	if opts.CheckLease == nil {
		opts.CheckLease = func() error { return nil }
	}
	return &Carrier{opts: opts, changed: make(chan struct{}), release: wake.New(),
		listeners: map[*listener]struct{}{}, left: map[string]struct{}{},
		held: held{last: map[string]int64{}}}
}

// Start starts the Carrier. Calling it twice is allowed; after Stop it does nothing.
func (c *Carrier) Start(ctx context.Context, log Journal, nodes Nodes) error {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	if c.started || c.stopped {
		return nil
	}
	c.started, c.log, c.nodes = true, log, nodes
	c.ended, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	ctx = c.ended
	head, unsubscribe := c.log.Subscribe(c.onRecords)
	c.mu.Lock() // never held during a call to the journal, which calls Enqueue
	c.held.begin(head)
	c.mu.Unlock()
	c.running.Go(func() {
		defer unsubscribe()
		c.showLoop(ctx)
	})
	c.running.Go(func() { c.followNodes(ctx) })
	return nil
}

// Stop ends the Carrier's work, including the requests of other nodes, and waits for it. Calling it twice is allowed.
func (c *Carrier) Stop(context.Context) error {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	c.stopped = true
	if c.started {
		c.cancel()
		c.running.Wait()
	}
	return nil
}

// enter returns the context of another node's request, nil if requests are no longer answered. The caller calls done at
// the end of the request, for which Stop waits.
func (c *Carrier) enter() (ended context.Context, done func()) {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	if !c.started || c.stopped {
		return nil, nil
	}
	c.running.Add(1)
	return c.ended, c.running.Done
}

// Changed reports that the sessions followed here may have changed (Options.Watched). It never blocks.
func (c *Carrier) Changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Carrier) change() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// onRecords is the journal's subscriber.
func (c *Carrier) onRecords(records []journal.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range records {
		if from, by, is := c.opts.TakeoverOf(&records[i].Event); is {
			switch c.opts.Self {
			case by:
				delete(c.left, records[i].SessionID)
			case from:
				c.left[records[i].SessionID] = struct{}{}
			}
		}
	}
	c.held.stored(records)
	if len(c.held.events) > 0 {
		c.mayShow()
	}
}
