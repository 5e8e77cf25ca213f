package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// watcher is a socket that records the ends of turns and counts frames.
type watcher struct {
	conn   *websocket.Conn
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	ended  map[string]chan struct{}
	frames int
	began  time.Time
	err    error
}

func newWatcher(base string) (*watcher, error) {
	ctx, cancel := context.WithCancel(context.Background())
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(base, "http")+"/api/stream", nil)
	if err != nil {
		cancel()
		return nil, err
	}
	conn.SetReadLimit(-1)
	w := &watcher{conn: conn, cancel: cancel, done: make(chan struct{}), ended: map[string]chan struct{}{},
		began: time.Now()}
	go w.read(ctx)
	return w, nil
}

func (w *watcher) read(ctx context.Context) {
	defer close(w.done)
	marker := []byte(`"method":"turn/completed"`)
	for {
		_, data, err := w.conn.Read(ctx)
		w.mu.Lock()
		w.frames++
		if err != nil {
			w.err = err
			w.mu.Unlock()
			return
		}
		if bytes.HasPrefix(data, []byte(`{"type":"notification"`)) && bytes.Contains(data, marker) {
			if _, rest, ok := bytes.Cut(data, []byte(`"turn":{"id":"`)); ok {
				id, _, _ := bytes.Cut(rest, []byte(`"`))
				close(w.turn(string(id)))
			}
		}
		w.mu.Unlock()
	}
}

// turn returns a channel that closes when the turn ends. The caller holds w.mu.
func (w *watcher) turn(id string) chan struct{} {
	if w.ended[id] == nil {
		w.ended[id] = make(chan struct{})
	}
	return w.ended[id]
}

func (w *watcher) wait(id string, patience time.Duration) error {
	w.mu.Lock()
	ended := w.turn(id)
	w.mu.Unlock()
	select {
	case <-ended:
		w.mu.Lock()
		delete(w.ended, id)
		w.mu.Unlock()
		return nil
	case <-w.done:
		return errors.New("the stream ended")
	case <-time.After(patience):
		return fmt.Errorf("turn %s did not end", id)
	}
}

func (w *watcher) rate() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return float64(w.frames) / time.Since(w.began).Seconds()
}

func (w *watcher) state() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d frames, %v", w.frames, w.err)
}

func (w *watcher) close() {
	w.cancel()
	<-w.done
	_ = w.conn.CloseNow()
}
