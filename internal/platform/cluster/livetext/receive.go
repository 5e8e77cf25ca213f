package livetext

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
	// beat is the interval of a listener's keepalives. settle is how long it gathers changes of its interest.
	beat   = 10 * time.Second
	settle = 5 * time.Millisecond
	// maxNames bounds the sessions named in one line, maxFollowed the sessions followed at once; the text of other
	// sessions comes from the store.
	maxNames    = 2000
	maxFollowed = 20000
)

// followNodes listens to each current node.
func (c *Carrier) followNodes(ctx context.Context) {
	links := map[string]context.CancelFunc{}
	var running sync.WaitGroup
	defer running.Wait()
	poll := time.NewTicker(c.opts.Poll)
	defer poll.Stop()
	for {
		nodes, err := c.nodes.Runners(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.opts.Logger.Debug().Err(err).Msg("cannot list the nodes; live text of other nodes comes from the store")
			nodes = nil // other nodes may be dead, so none is followed
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
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// followNode follows one node until it is permanently gone.
func (c *Carrier) followNode(ctx context.Context, node string) {
	for {
		again, err := c.listen(ctx, node)
		if ctx.Err() != nil {
			return
		}
		c.opts.Logger.Debug().Err(err).Str("node", node).
			Msg("connection for ephemeral events lost; reading from the store until it is back")
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// listen reads the events of one node until the connection breaks, and returns when to retry.
func (c *Carrier) listen(ctx context.Context, node string) (again time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	body, interests := io.Pipe()
	defer func() { _ = body.Close() }() // closing the pipe always succeeds
	asking.Go(func() { interests.CloseWithError(c.sendInterest(ctx, interests)) })
	answer, err := c.nodes.Open(ctx, node, Path, body)
	if err != nil {
		return c.opts.Poll, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		return c.opts.Poll, fmt.Errorf("the node answered %d", answer.StatusCode)
	default:
		return c.opts.Again, fmt.Errorf("the node answered %d: its version may be older", answer.StatusCode)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var next wireEvent
		if err := json.Unmarshal(lines.Bytes(), &next); err != nil {
			return c.opts.Again, fmt.Errorf("decode an event of the node: %w", err)
		}
		c.mu.Lock()
		added := c.held.add(next.After, next.event(), time.Now())
		c.mu.Unlock()
		if !added {
			c.opts.Dropped(1)
		}
		c.mayShow()
	}
	return c.opts.Poll, lines.Err()
}

// sendInterest sends the set of sessions followed here, and each change of it.
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
				return io.ErrClosedPipe // the request has ended
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

// next returns the next change of interest, which brings asked closer to the followed sessions. more reports whether
// further changes follow.
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

// mayShow triggers a check of the held events.
func (c *Carrier) mayShow() {
	c.release.Set()
}

// showLoop shows held events once the stored events before them are shown.
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

// due returns the events to show now.
func (c *Carrier) due() []journal.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	due, dropped := c.held.due(time.Now())
	if c.opts.CheckLease() != nil {
		due, dropped = nil, dropped+len(due)
	}
	c.opts.Dropped(dropped)
	c.opts.Received(len(due))
	return due
}
