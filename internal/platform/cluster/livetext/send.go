package livetext

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/journal"
)

const (
	// gather is the time after a write during which further events wait for the next write.
	gather = 5 * time.Millisecond
	// maxQueued and maxQueuedSize bound the queue of one node.
	maxQueued     = 2048
	maxQueuedSize = 2 << 20
	// maxWrite bounds a write to a node that does not read. silence bounds the time without a keepalive from it.
	maxWrite = 5 * time.Second
	silence  = 3 * beat
)

// listener is another node that receives events.
type listener struct {
	wake wake.Signal

	mu       sync.Mutex
	all      bool
	sessions map[string]struct{}
	queue    []queued
	size     int
}

type queued struct {
	after int64
	event journal.Event
}

// Enqueue queues ephemeral events of this process and the position they follow (journal.Options.OnEphemeral). It never
// blocks.
func (c *Carrier) Enqueue(after int64, events []journal.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.listeners) == 0 {
		return
	}
	for i := range events {
		if _, left := c.left[events[i].SessionID]; left {
			continue
		}
		for l := range c.listeners {
			if !l.enqueue(after, &events[i]) {
				c.opts.Dropped(1)
			}
		}
	}
}

// enqueue queues an event if the node follows its session; false if the event was dropped.
func (l *listener) enqueue(after int64, event *journal.Event) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, wanted := l.sessions[event.SessionID]; !l.all && !wanted {
		return true
	}
	size := len(event.Payload)
	if size > maxDelta || len(l.queue) >= maxQueued || l.size+size > maxQueuedSize {
		return false
	}
	l.queue = append(l.queue, queued{after, *event})
	l.size += size
	l.wake.Set()
	return true
}

func (l *listener) follow(change interest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = change.All
	for _, id := range change.Drop {
		delete(l.sessions, id)
	}
	for _, id := range change.Add {
		l.sessions[id] = struct{}{}
	}
}

func (l *listener) drain() []queued {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queue
	l.queue, l.size = nil, 0
	return queue
}

// ServeHTTP streams this node's ephemeral events to another node while that node is connected: one line of JSON for
// each event. The caller must be authenticated as a node.
func (c *Carrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ended, done := c.enter()
	if ended == nil {
		http.Error(w, "this node is starting or stopping: ask again later", http.StatusServiceUnavailable)
		return
	}
	defer done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(ended, cancel)()
	l := &listener{wake: wake.New(), sessions: map[string]struct{}{}}
	c.mu.Lock()
	c.listeners[l] = struct{}{}
	c.mu.Unlock()
	control := http.NewResponseController(w)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel()
		c.readInterest(r, control, l)
	})
	err := c.send(ctx, w, control, l)
	if err != nil && ctx.Err() == nil {
		c.opts.Logger.Debug().Err(err).Msg("a node disconnected from the live text")
	}
	c.mu.Lock()
	delete(c.listeners, l)
	c.mu.Unlock()
	_ = control.SetReadDeadline(time.Now()) // it may have ended already
	reading.Wait()
}

// readInterest reads which sessions the node follows, until it times out.
func (c *Carrier) readInterest(r *http.Request, control *http.ResponseController, l *listener) {
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, maxLine)
	for {
		if err := control.SetReadDeadline(time.Now().Add(silence)); err != nil || !lines.Scan() {
			return
		}
		var change interest
		if err := json.Unmarshal(lines.Bytes(), &change); err != nil {
			c.opts.Logger.Warn().Err(err).Msg("cannot decode which sessions a node follows")
			return
		}
		l.follow(change)
	}
}

// send writes queued events until the listener disconnects.
func (c *Carrier) send(ctx context.Context, w http.ResponseWriter, control *http.ResponseController, l *listener) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	if err := control.Flush(); err != nil {
		return err
	}
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil
		}
		events := l.drain()
		if c.opts.CheckLease() != nil { // another node may have ended this one
			c.opts.Dropped(len(events))
			events = nil
		}
		lines, err := c.encode(events)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			if err := control.SetWriteDeadline(time.Now().Add(maxWrite)); err != nil {
				return err
			}
			if _, err := w.Write(lines); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
			if err := control.SetWriteDeadline(time.Time{}); err != nil {
				return err
			}
			c.opts.Sent(len(events))
		}
		timer.Reset(gather)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// encode encodes events as lines.
func (c *Carrier) encode(events []queued) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	for i := range events {
		line, err := c.toWire(events[i].after, &events[i].event)
		if err != nil {
			return nil, err
		}
		if err := encoder.Encode(line); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
