package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/journal"
)

// Journal is the part of the event log that the stream uses; *journal.Journal implements it.
type Journal interface {
	// Subscribe passes committed records to fn, in order, from one goroutine; head is the position before the first
	// one.
	Subscribe(fn journal.Subscriber) (head int64, cancel func())
	// SubscribeEphemeral calls fn for events published before they are stored, in order with the records, never
	// concurrently.
	SubscribeEphemeral(fn journal.EphemeralSubscriber) (cancel func())
	// Pending reports whether fn is about to get more records: a write is under way or queued.
	Pending() bool
	// Bounds returns the oldest kept position and the last committed one.
	Bounds(ctx context.Context) (oldest, head int64, err error)
	// Read returns committed records after a position; with Session set, only that session's records, global ones and
	// broadcasts.
	Read(ctx context.Context, query journal.Query) ([]journal.Record, error)
}

// Conn is the transport of one connection. One goroutine at a time calls Write and Wait.
type Conn interface {
	// Write sends messages in order as far as the peer accepts them now, without waiting. It returns how many the peer
	// accepted; a partly written one counts. full: call Wait before the next Write.
	Write(messages []*Message) (sent int, full bool, err error)
	// Wait returns when all accepted bytes are sent. ErrStalled: no byte moved for the stall limit.
	Wait() error
	// Ping asks the peer for a sign of life; Alive reports whether there was one since.
	Ping()
	Alive() bool
	// Close ends the connection with a websocket close code and reason, within a few seconds.
	Close(code int, reason string)
	// Abort ends the connection at once.
	Abort()
}

// Sentinel errors of Conn and Hub; test them with errors.Is.
var (
	// ErrStalled: the peer accepted nothing within the stall limit.
	ErrStalled = errors.New("the reader accepted nothing within the stall limit")
	// ErrStopped: the hub is not running.
	ErrStopped = errors.New("the stream is not running")
)

// Metrics are callbacks for the hub's activity. Every function may be nil; none may block.
type Metrics struct {
	// Connections gets +1 and -1.
	Connections func(delta int)
	// Sent gets the frames written to one connection and their bytes on the wire.
	Sent func(frames, bytes int)
	// CatchUp is called each time a connection is switched to reading the journal, with the reason: resume or
	// overflow.
	CatchUp func(reason string)
	// Skipped gets the number of replaceable frames that a slow connection without positions missed.
	Skipped func(frames int)
	// Gap is called for each gap frame, with the reason: resume (the cursor was pruned already), pruned (while
	// catching up) or skipped.
	Gap func(reason string)
	// SlowConsumer is called for each connection closed with 4008: stalled or pruned.
	SlowConsumer func(reason string)
	// Closed is called for each connection that the hub closes because of its peer: rate, unfinished, too_big, memory,
	// protocol, filter_changes or no_pong. It is also called when access is withdrawn.
	Closed func(reason string)
	// Refused is called for each refused handshake: connections, address or origin.
	Refused func(reason string)
}

// Options configure a Hub. Zero fields take the defaults given in parentheses.
type Options struct {
	Logger zerolog.Logger
	// RingFrames and RingBytes bound the recent frames kept for all connections together (4096 frames, 8 MiB of
	// payload). Encoded frames take up to three times that. A connection further behind catches up from the journal.
	RingFrames, RingBytes int
	// Shards is the number of writers (GOMAXPROCS).
	Shards int
	// CatchUpPage is how many records a connection reads at a time while it catches up (128). CatchUpReads is how many
	// connections read at once (8).
	CatchUpPage, CatchUpReads int
	// PingEvery is the time between pings (15 s, because proxies close connections that are idle for 20 s). PingTimeout
	// is the time that a peer has for any sign of life after a ping (15 s).
	PingEvery, PingTimeout time.Duration
	// StopTimeout bounds the closing of open connections on Stop (5 s).
	StopTimeout time.Duration
	// ProjectOf returns the project of a session, "" for none and for a missing session. The hub calls it for
	// connections limited to projects (HandlerOptions.Reach); if it is nil, they get no frames.
	ProjectOf func(ctx context.Context, sessionID string) (string, error)
	// Watched, when set, is called when the result of Hub.Watched may have changed. It must not block.
	Watched func()
	Metrics Metrics
}

func (o *Options) setDefaults() {
	o.RingFrames = positive(o.RingFrames, 4096)
	o.RingBytes = positive(o.RingBytes, 8<<20)
	o.Shards = positive(o.Shards, runtime.GOMAXPROCS(0))
	o.CatchUpPage = positive(o.CatchUpPage, 128)
	o.CatchUpReads = positive(o.CatchUpReads, 8)
	o.PingEvery = positive(o.PingEvery, 15*time.Second)
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
	if o.Metrics.Skipped == nil {
		o.Metrics.Skipped = func(int) {}
	}
	for _, notice := range []*func(string){&o.Metrics.Gap, &o.Metrics.SlowConsumer, &o.Metrics.Closed, &o.Metrics.Refused} {
		if *notice == nil {
			*notice = func(string) {}
		}
	}
}

func positive[T int | time.Duration](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}

// Hub sends the frames of committed events to the connections whose filter includes them. Lock order: journal,
// Hub.mu, client.mu, shard.mu. No lock is held across a system call or a read of the journal.
type Hub struct {
	journal Journal
	opts    Options
	reads   chan struct{} // one token per concurrent journal read of connections that catch up

	lifecycle sync.Mutex
	cancel    func()
	running   sync.WaitGroup // one per attached client, and one per tick of a client
	writing   sync.WaitGroup // one per running shard, and one per goroutine that a shard passes a client to

	mu       sync.Mutex
	open     bool
	head     int64 // journal position of the last published record
	attached uint64
	limited  int // clients limited to projects
	clients  map[*client]struct{}
	views    map[string]*view // by their audience's key
	own      *channel
	channels []*channel // includes own
	log      []*shared  // the frames of all views, oldest first
	logBytes int
	shards   []*shard

	projects projects
}

// NewHub makes a hub over a journal. Start it before serving.
func NewHub(source Journal, opts Options) *Hub {
	opts.setDefaults()
	h := &Hub{
		journal: source, opts: opts, reads: make(chan struct{}, opts.CatchUpReads), clients: map[*client]struct{}{},
		views: map[string]*view{}, projects: projects{of: opts.ProjectOf},
	}
	h.own = h.channelOf(ownFeed{})
	return h
}

// Start subscribes to the journal. Calling it twice is allowed.
func (h *Hub) Start(context.Context) error {
	h.lifecycle.Lock()
	defer h.lifecycle.Unlock()
	if h.cancel != nil {
		return nil
	}
	shards := make([]*shard, h.opts.Shards)
	for i := range shards {
		shards[i] = newShard(h, i)
		h.writing.Go(shards[i].run)
	}
	h.mu.Lock()
	h.shards = shards
	h.mu.Unlock()
	head, unsubscribe := h.journal.Subscribe(h.publish)
	unsubscribeEphemeral := h.journal.SubscribeEphemeral(h.publishEphemeral)
	h.cancel = func() { unsubscribe(); unsubscribeEphemeral() }
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = max(h.head, head)
	h.open = true
	return nil
}

// Stop closes every connection with 1012 and waits for them, until ctx ends or StopTimeout passes; it then aborts the
// remaining ones. Calling it twice is allowed.
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
	err := h.await(ctx, finished)
	for _, s := range h.shards {
		close(s.quit)
	}
	h.writing.Wait()
	h.mu.Lock()
	h.log, h.logBytes = nil, 0
	h.mu.Unlock()
	return err
}

// await waits for the connections, and aborts the remaining ones when the time is over.
func (h *Hub) await(ctx context.Context, finished <-chan struct{}) (err error) {
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("stop the stream: %w", ctx.Err())
	case <-time.After(h.opts.StopTimeout):
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

// isOpen reports whether the hub accepts connections.
func (h *Hub) isOpen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// publish is the journal's subscriber: it never waits for a reader. The head moves under the same lock as the rings. So
// a client that joins or changes its filter does so between two events, never inside one.
func (h *Hub) publish(records []journal.Record) {
	// Events that no client would get are not derived. The others are derived outside the lock; a client that joins
	// during that time joins before these events.
	outgoing := make([]derived, len(records))
	h.mu.Lock()
	for i := range records {
		outgoing[i].wanted = h.wanting(&records[i])
	}
	h.mu.Unlock()
	for i := range records {
		outgoing[i].by(h, outgoing[i].wanted, records[i])
	}
	owners := h.lockKnowing(records)
	for i := range records {
		outgoing[i].by(h, h.wanting(&records[i]), records[i])
		for _, frame := range outgoing[i].frames {
			frame.project = owners.at(i)
			h.offer(frame)
		}
		h.head = max(h.head, records[i].Pos)
	}
	h.wakeShards()
	h.mu.Unlock()
}

// derived are the frames of a record in the channels that want it.
type derived struct {
	wanted, done []*channel
	frames       []*shared
}

// by adds the frames of channels that are still missing.
func (d *derived) by(h *Hub, channels []*channel, record journal.Record) {
	for _, c := range channels {
		if !slices.Contains(d.done, c) {
			d.done = append(d.done, c)
			d.frames = append(d.frames, h.derive(c, record)...)
		}
	}
}

// publishEphemeral is publish for events that are not stored yet. A client that joins in between reads them from the
// store.
func (h *Hub) publishEphemeral(events []journal.Event) {
	for i := range events {
		record := journal.Record{Event: events[i]}
		h.mu.Lock()
		wanted := h.wanting(&record)
		h.mu.Unlock()
		if len(wanted) == 0 {
			continue
		}
		var outgoing derived
		outgoing.by(h, wanted, record)
		owners := h.lockKnowing([]journal.Record{record})
		for _, frame := range outgoing.frames {
			frame.Ephemeral, frame.project = true, owners.at(0)
			h.offer(frame)
		}
		h.wakeShards()
		h.mu.Unlock()
	}
}

// wakeShards wakes the shards with new frames for their sockets; h.mu is held.
func (h *Hub) wakeShards() {
	for _, s := range h.shards {
		if len(s.dirty) > 0 {
			s.wake.Set()
		}
	}
}

// wanting returns the channels in which a record may have a frame for some connection; h.mu is held.
func (h *Hub) wanting(record *journal.Record) (wanting []*channel) {
	for _, c := range h.channels {
		if c.wants(record) {
			wanting = append(wanting, c)
		}
	}
	return wanting
}

// derive makes the frames of a record. An unreadable record is skipped, live and on replay alike. Otherwise it
// would end the stream for all clients, on every attempt.
func (h *Hub) derive(c *channel, record journal.Record) []*shared {
	frames, err := c.feed.Frames(record)
	if err != nil {
		h.opts.Logger.Error().Err(err).Int64("pos", record.Pos).Msg("event is not shown on the stream")
		return nil
	}
	out := make([]*shared, len(frames))
	var text *shared
	for i := range frames {
		out[i] = &shared{Frame: frames[i], channel: c}
		if frames[i].Text != nil {
			kept := record // a frame keeps its record only if it adds to a text
			out[i].record, text = &kept, out[i]
		}
	}
	if text != nil {
		text.last = true
	}
	return out
}
