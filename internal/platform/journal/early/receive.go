package early

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"harness/internal/platform/journal"
)

const (
	// beat is how often a node that listens says so, settle how long it waits for more changes of what it follows.
	beat   = 10 * time.Second
	settle = 5 * time.Millisecond
	// maxNames bounds the sessions named in one line, maxFollowed those followed at once; the others wait for
	// the store.
	maxNames    = 2000
	maxFollowed = 20000
)

// followNodes listens to each of the nodes there are.
func (c *Carrier) followNodes(ctx context.Context) {
	links := map[string]context.CancelFunc{}
	var running sync.WaitGroup
	defer running.Wait()
	look := time.NewTicker(c.opts.Look)
	defer look.Stop()
	for {
		nodes, err := c.nodes.Runners(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.opts.Logger.Debug().Err(err).Msg("cannot look which nodes there are")
			nodes = nil // what may be over is not shown
		}
		there := make(map[string]bool, len(nodes))
		for _, node := range nodes {
			there[node] = true
			if links[node] == nil {
				within, cancel := context.WithCancel(ctx)
				links[node] = cancel
				running.Go(func() { c.followNode(within, node) })
			}
		}
		for node, cancel := range links {
			if !there[node] {
				cancel()
				delete(links, node)
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// followNode listens to one node until it is gone for good.
func (c *Carrier) followNode(ctx context.Context, node string) {
	for {
		again, err := c.listen(ctx, node)
		if ctx.Err() != nil {
			return
		}
		c.opts.Logger.Debug().Err(err).Str("node", node).
			Msg("the connection for ephemeral events broke; its events come from the store until it is back")
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// listen reads the events of one node until the connection breaks, and returns when to try again.
func (c *Carrier) listen(ctx context.Context, node string) (again time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	body, says := io.Pipe()
	defer func() { _ = body.Close() }() // it always ends the pipe
	asking.Go(func() { says.CloseWithError(c.sendInterest(ctx, says)) })
	answer, err := c.nodes.Open(ctx, node, Path, body)
	if err != nil {
		return c.opts.Look, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		return c.opts.Look, fmt.Errorf("it answered %d", answer.StatusCode)
	default:
		return c.opts.Again, fmt.Errorf("it answered %d: it may be of an older version", answer.StatusCode)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var next wireEvent
		if err := json.Unmarshal(lines.Bytes(), &next); err != nil {
			return c.opts.Again, fmt.Errorf("what it says cannot be read: %w", err)
		}
		c.mu.Lock()
		added := c.held.add(next.After, next.event(), time.Now())
		c.mu.Unlock()
		if !added {
			c.opts.Dropped(1)
		}
		c.mayShow()
	}
	return c.opts.Look, lines.Err()
}

// sendInterest says what is followed here, and what changes of it.
func (c *Carrier) sendInterest(ctx context.Context, to io.Writer) error {
	encoder := json.NewEncoder(to)
	asked := map[string]struct{}{}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for {
		change := c.change()
		for more := true; more; {
			var next interest
			if next, more = c.next(asked); encoder.Encode(next) != nil {
				return io.ErrClosedPipe // the request is over
			}
		}
		select {
		case <-change:
			select {
			case <-time.After(settle):
			case <-ctx.Done():
				return ctx.Err()
			}
		case <-alive.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next is what is to be said next so that what was asked for is what is followed; more: that is not all.
func (c *Carrier) next(asked map[string]struct{}) (say interest, more bool) {
	wanted, all := c.opts.Watched()
	say.All = all
	for id := range asked {
		if _, is := wanted[id]; !is && len(say.Drop) < maxNames {
			say.Drop = append(say.Drop, id)
			delete(asked, id)
		}
	}
	for id := range wanted {
		if _, is := asked[id]; !is && len(say.Add) < maxNames && len(asked) < maxFollowed {
			say.Add = append(say.Add, id)
			asked[id] = struct{}{}
		}
	}
	return say, len(say.Drop) == maxNames || len(say.Add) == maxNames
}

// mayShow has what waits looked at.
func (c *Carrier) mayShow() {
	select {
	case c.release <- struct{}{}:
	default:
	}
}

// showLoop shows what waits when its place has come.
func (c *Carrier) showLoop(ctx context.Context) {
	for {
		select {
		case <-c.release:
			c.log.PassOn(c.due)
		case <-ctx.Done():
			return
		}
	}
}

// due is what is to be shown now.
func (c *Carrier) due() []journal.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	due, dropped := c.held.due(time.Now())
	if c.opts.Sure() != nil {
		due, dropped = nil, dropped+len(due)
	}
	c.opts.Dropped(dropped)
	c.opts.Received(len(due))
	return due
}
