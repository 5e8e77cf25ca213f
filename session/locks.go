package session

import (
	"context"
	"sync"
)

// keyedLocks serialise work per session. A key costs memory only while it is held or waited for.
type keyedLocks struct {
	mu   sync.Mutex
	keys map[string]*keyedLock
}

type keyedLock struct {
	token chan struct{} // holds one token while the lock is free
	users int
}

// acquire waits for the key's lock or for ctx.
func (l *keyedLocks) acquire(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.keys == nil {
		l.keys = make(map[string]*keyedLock)
	}
	lock, ok := l.keys[key]
	if !ok {
		lock = &keyedLock{token: make(chan struct{}, 1)}
		lock.token <- struct{}{}
		l.keys[key] = lock
	}
	lock.users++
	l.mu.Unlock()

	select {
	case <-lock.token:
		return func() {
			lock.token <- struct{}{}
			l.leave(key, lock)
		}, nil
	case <-ctx.Done():
		l.leave(key, lock)
		return nil, ctx.Err()
	}
}

func (l *keyedLocks) leave(key string, lock *keyedLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock.users--
	if lock.users == 0 {
		delete(l.keys, key)
	}
}

func (l *keyedLocks) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}
