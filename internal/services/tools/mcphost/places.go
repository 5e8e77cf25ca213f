package mcphost

import (
	"context"
	"sync"
)

// places limits the number of open calls of each session.
type places struct {
	mu sync.Mutex
	of map[string]*place
}

// place is a session with open or waiting calls.
type place struct {
	taken chan struct{}
	users int
}

// take waits until fewer than most calls of a session are open; leave releases the place. The error is ctx's.
func (p *places) take(ctx context.Context, session string, most int) (leave func(), err error) {
	p.mu.Lock()
	if p.of == nil {
		p.of = map[string]*place{}
	}
	one := p.of[session]
	if one == nil {
		one = &place{taken: make(chan struct{}, max(most, 1))}
		p.of[session] = one
	}
	one.users++
	p.mu.Unlock()
	forget := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(p.of, session)
		}
	}
	select {
	case one.taken <- struct{}{}:
		return func() {
			<-one.taken
			forget()
		}, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}
