package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/journal"
)

// Journal is what the stream needs of the event log; *journal.Journal implements it.
type Journal interface {
	// Subscribe hands committed records to fn, in order, from one goroutine; head is the position before the first of them.
	Subscribe(fn journal.Subscriber) (head int64, cancel func())
	// Bounds are the oldest position still kept and the last committed one.
	Bounds(ctx context.Context) (oldest, head int64, err error)
	// Read returns committed records after a position; with Session set, that session's, global ones and broadcasts.
	Read(ctx context.Context, query journal.Query) ([]journal.Record, error)
}

// Conn is what the hub needs of a connection: the seam behind which a transport can change how bytes leave.
type Conn interface {
	// Write sends messages in order and returns when all of them left. ErrStalled: no byte moved for the stall limit.
	Write(messages []*Message) error
	// Ping asks the peer for a sign of life; Alive tells whether there was any since.
	Ping()
	Alive() bool
	// Close ends the connection with a websocket close code and reason, within a few seconds.
	Close(code int, reason string)
	// Abort ends the connection at once.
	Abort()
}

// Sentinels of Conn and Hub, to be tested with errors.Is.
var (
	// ErrStalled: the peer took nothing for the stall limit.
	ErrStalled = errors.New("the reader took nothing within the stall limit")
	// ErrStopped: the hub is not running.
	ErrStopped = errors.New("the stream is not running")
)

// Metrics are told what the hub does. Every function may be nil; none may block.
type Metrics struct {
	// Connections is told +1 and -1.
	Connections func(delta int)
	// Sent is told the frames written to one connection and their bytes on the wire.
	Sent func(frames, bytes int)
	// CatchUp is told each time a connection is switched to reading the journal, with the reason: resume or overflow.
	CatchUp func(reason string)
	// SlowConsumer is told each connection closed with 4008: stalled or pruned.
	SlowConsumer func(reason string)
}

// Options configure a Hub. Zero fields take the defaults named.
type Options struct {
	Logger zerolog.Logger
	// MaxQueueFrames and MaxQueueBytes bound what waits for one connection (1024 frames, 4 MiB); beyond, it catches up from the journal.
	MaxQueueFrames, MaxQueueBytes int
	// CatchUpPage is how many records a connection that catches up reads at a time (128), CatchUpReads how many connections read at once (8).
	CatchUpPage, CatchUpReads int
	// PingEvery is the time between pings (30 s), PingTimeout the time a peer has for any sign of life after one (15 s).
	PingEvery, PingTimeout time.Duration
	// StopTimeout bounds the goodbye to open connections on Stop (5 s).
	StopTimeout time.Duration
	Metrics     Metrics
}

func (o *Options) setDefaults() {
	o.MaxQueueFrames = positive(o.MaxQueueFrames, 1024)
	o.MaxQueueBytes = positive(o.MaxQueueBytes, 4<<20)
	o.CatchUpPage = positive(o.CatchUpPage, 128)
	o.CatchUpReads = positive(o.CatchUpReads, 8)
	o.PingEvery = positive(o.PingEvery, 30*time.Second)
	o.PingTimeout = min(positive(o.PingTimeout, 15*time.Second), o.PingEvery)
	o.StopTimeout = positive(o.StopTimeout, 5*time.Second)
	if o.Metrics.Connections == nil {
		o.Metrics.Connections = func(int) {}
	}
	if o.Metrics.Sent == nil {
		o.Metrics.Sent = func(int, int) {}
	}
	if o.Metrics.CatchUp == nil {
		o.Metrics.CatchUp = func(string) {}
	}
	if o.Metrics.SlowConsumer == nil {
		o.Metrics.SlowConsumer = func(string) {}
	}
}

func positive[T int | time.Duration](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}

// Hub hands the frames of committed events to the connections whose filter lets them through. Lock order: journal, Hub.mu, client.mu.
type Hub struct {
	journal Journal
	opts    Options
	reads   chan struct{} // one token per journal read of a connection that catches up

	lifecycle sync.Mutex
	cancel    func()
	running   sync.WaitGroup // one per attached client

	mu         sync.Mutex
	open       bool
	head       int64 // journal position of the last record handed out
	clients    map[*client]struct{}
	unfiltered map[*client]struct{}
	byThread   map[string]map[*client]struct{}
}

// NewHub makes a hub over a journal. Start it before serving.
func NewHub(source Journal, opts Options) *Hub {
	opts.setDefaults()
	return &Hub{
		journal: source, opts: opts, reads: make(chan struct{}, opts.CatchUpReads),
		clients: map[*client]struct{}{}, unfiltered: map[*client]struct{}{}, byThread: map[string]map[*client]struct{}{},
	}
}

// Start subscribes to the journal. Calling it twice is allowed.
func (h *Hub) Start(context.Context) error {
	h.lifecycle.Lock()
	defer h.lifecycle.Unlock()
	if h.cancel != nil {
		return nil
	}
	head, cancel := h.journal.Subscribe(h.publish)
	h.cancel = cancel
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = max(h.head, head)
	h.open = true
	return nil
}

// Stop closes every connection with 1012 and waits for them, within ctx and StopTimeout; what is left then is cut off. Calling it twice is
// allowed.
func (h *Hub) Stop(ctx context.Context) error {
	h.lifecycle.Lock()
	defer h.lifecycle.Unlock()
	if h.cancel == nil {
		return nil
	}
	h.cancel()
	h.cancel = nil
	h.mu.Lock()
	h.open = false
	for c := range h.clients {
		c.end(closeRestart, "service restart")
	}
	h.mu.Unlock()

	finished := make(chan struct{})
	go func() {
		h.running.Wait()
		close(finished)
	}()
	timeout := time.NewTimer(h.opts.StopTimeout)
	defer timeout.Stop()
	var err error
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("stop the stream: %w", ctx.Err())
	case <-timeout.C:
	}
	h.mu.Lock()
	left := slices.Collect(maps.Keys(h.clients))
	h.mu.Unlock()
	for _, c := range left {
		c.conn.Abort()
	}
	<-finished
	return err
}

// isOpen tells whether the hub takes connections.
func (h *Hub) isOpen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// publish is the journal's subscriber: it never waits for a reader.
func (h *Hub) publish(records []journal.Record) {
	for i := range records {
		h.deliver(records[i])
	}
}

// derive makes the frames of a record. One that cannot be read is skipped, live and on replay alike: it would otherwise end the stream for
// everybody, for ever.
func (h *Hub) derive(record journal.Record) []*shared {
	frames, err := Frames(record)
	if err != nil {
		h.opts.Logger.Error().Err(err).Int64("pos", record.Pos).Msg("event is not shown on the stream")
		return nil
	}
	out := make([]*shared, len(frames))
	for i := range frames {
		out[i] = &shared{Frame: frames[i]}
	}
	return out
}

// deliver queues an event's frames for their receivers. The head moves under the same lock, so a client that joins or changes its filter
// does so between two events, never inside one.
func (h *Hub) deliver(record journal.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Without clients the work of deriving is saved; asking under the lock means that nobody can join between the question and the head.
	if len(h.clients) > 0 {
		for _, frame := range h.derive(record) {
			h.offer(frame)
		}
	}
	h.head = max(h.head, record.Pos)
}

// offer gives a frame to its receivers; h.mu is held.
func (h *Hub) offer(frame *shared) {
	switch {
	case frame.SystemOwned:
		offerAll(h.byThread[frame.ThreadID], frame)
	case frame.Broadcast:
		offerAll(h.clients, frame)
	default:
		offerAll(h.unfiltered, frame)
		if frame.ThreadID != "" {
			offerAll(h.byThread[frame.ThreadID], frame)
		}
	}
}

func offerAll(receivers map[*client]struct{}, frame *shared) {
	for c := range receivers {
		c.offer(frame)
	}
}

// index and unindex keep the receiver sets; h.mu is held.
func (h *Hub) index(c *client) {
	if c.filter == "" {
		h.unfiltered[c] = struct{}{}
		return
	}
	set := h.byThread[c.filter]
	if set == nil {
		set = map[*client]struct{}{}
		h.byThread[c.filter] = set
	}
	set[c] = struct{}{}
}

func (h *Hub) unindex(c *client) {
	delete(h.unfiltered, c)
	if set := h.byThread[c.filter]; set != nil {
		delete(set, c)
		if len(set) == 0 {
			delete(h.byThread, c.filter)
		}
	}
}
