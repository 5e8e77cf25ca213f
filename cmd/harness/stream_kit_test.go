package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// frame is one frame as a client gets it.
type frame struct {
	Type     string          `json:"type"`
	ThreadID *string         `json:"threadId"`
	Payload  json.RawMessage `json:"payload"`
	Pos      int64           `json:"pos"`
	Seq      int64           `json:"seq"`
	Offset   *int64          `json:"offset"`
	raw      string
}

func (f frame) payload() object {
	var decoded object
	_ = json.Unmarshal(f.Payload, &decoded)
	return decoded
}

// follower is a websocket client that collects everything.
type follower struct {
	t      *testing.T
	conn   *websocket.Conn
	mu     sync.Mutex
	frames []frame
	news   chan struct{} // replaced at every frame
	ended  chan struct{}
	err    error
	marker int
}

// follow opens the stream; query may name a threadId and a cursor.
func (i *instance) follow(query string) *follower {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	address := "ws" + strings.TrimPrefix(i.url, "http") + "/api/stream"
	if query != "" {
		address += "?" + query
	}
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	f := &follower{t: i.t, conn: conn, news: make(chan struct{}), ended: make(chan struct{})}
	go f.collect()
	i.t.Cleanup(f.close)
	f.wait("ready", func(f frame) bool { return f.Type == "ready" })
	return f
}

func (f *follower) collect() {
	defer close(f.ended)
	for {
		_, data, err := f.conn.Read(context.Background())
		f.mu.Lock()
		if err != nil {
			f.err = err
			f.mu.Unlock()
			return
		}
		var next frame
		if err := json.Unmarshal(data, &next); err != nil {
			f.t.Errorf("a frame is no JSON: %q", data)
		}
		next.raw = string(data)
		f.frames = append(f.frames, next)
		close(f.news)
		f.news = make(chan struct{})
		f.mu.Unlock()
	}
}

// close ends the connection without ceremony and waits for the reader.
func (f *follower) close() {
	_ = f.conn.CloseNow()
	<-f.ended
}

// all are the frames so far.
func (f *follower) all() []frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]frame(nil), f.frames...)
}

// wait returns the first frame after the last one waited for that fits.
func (f *follower) wait(what string, fits func(frame) bool) frame {
	f.t.Helper()
	f.mu.Lock()
	from := f.marker
	f.mu.Unlock()
	found, at := f.await(what, patience, from, fits)
	f.mu.Lock()
	f.marker = at + 1
	f.mu.Unlock()
	return found
}

// find returns the first of all frames that fits, now or later. Unlike wait it takes none of them away.
func (f *follower) find(what string, fits func(frame) bool) frame {
	f.t.Helper()
	found, _ := f.await(what, 3*patience, 0, fits) // agents are heavy to start again
	return found
}

// await returns the first frame from a place on that fits, and its place.
func (f *follower) await(what string, limit time.Duration, from int, fits func(frame) bool) (frame, int) {
	f.t.Helper()
	deadline := time.After(limit)
	for {
		f.mu.Lock()
		frames, news := f.frames, f.news
		f.mu.Unlock()
		for ; from < len(frames); from++ {
			if fits(frames[from]) {
				return frames[from], from
			}
		}
		select {
		case <-news:
		case <-f.ended:
			f.t.Fatalf("the stream ended (%v) before %s; it had %s", f.err, what, f.types())
		case <-deadline:
			f.t.Fatalf("no frame: %s; there were %s", what, f.types())
		}
	}
}

// waitType waits for a frame of the type.
func (f *follower) waitType(frameType string) frame {
	f.t.Helper()
	return f.wait(frameType, func(f frame) bool { return f.Type == frameType })
}

// waitTurn waits for the end of the turn and returns its status.
func (f *follower) waitTurn(turnID string) string {
	f.t.Helper()
	done := f.wait("turn/completed of "+turnID, func(f frame) bool {
		return f.Type == "notification" && text(f.payload(), "method") == "turn/completed" &&
			text(f.payload(), "params", "turn", "id") == turnID
	})
	return text(done.payload(), "params", "turn", "status")
}

func (f *follower) types() string {
	var out []string
	for _, frame := range f.all() {
		out = append(out, frame.Type)
	}
	if len(out) > 60 {
		out = out[len(out)-60:]
	}
	return strings.Join(out, " ")
}
