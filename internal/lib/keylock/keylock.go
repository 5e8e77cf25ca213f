// Package keylock provides locks by key, for work on one object that must not run concurrently.
package keylock

import (
	"context"
	"maps"
	"sync"
)

// Locks has one lock for each key. A key uses memory only while a caller holds its lock or waits for it. The zero value
// is ready to use.
type Locks struct {
	mu    sync.Mutex
	users map[string]int
	locks map[string]chan struct{} // holds one token while the lock is free
}

// Acquire waits for a key's lock, or until ctx ends, with its error. Call release once.
func (l *Locks) Acquire(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.users == nil {
		l.users, l.locks = map[string]int{}, map[string]chan struct{}{}
	}
	lock, ok := l.locks[key]
	if !ok {
		lock = make(chan struct{}, 1)
		lock <- struct{}{}
		l.locks[key] = lock
	}
	l.users[key]++
	l.mu.Unlock()
	select {
	case <-lock:
		return func() {
			lock <- struct{}{}
			l.release(key)
		}, nil
	case <-ctx.Done():
		l.release(key)
		return nil, ctx.Err()
	}
}

func (l *Locks) release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users[key]--; l.users[key] == 0 {
		delete(l.users, key)
		delete(l.locks, key)
	}
}

// Users returns the number of holders and waiters of each lock, by key.
func (l *Locks) Users() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.users)
}
