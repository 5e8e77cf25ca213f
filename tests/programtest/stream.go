package programtest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// AgentDelta is the method of a text delta of an agent.
const AgentDelta = "item/agentMessage/delta"

// Frame is one frame as a client gets it.
type Frame struct {
	Type     string          `json:"type"`
	ThreadID *string         `json:"threadId"`
	Payload  json.RawMessage `json:"payload"`
	Pos      int64           `json:"pos"`
	Seq      int64           `json:"seq"`
	Offset   *int64          `json:"offset"`
	Raw      string          `json:"-"`
}

// Decoded returns the decoded payload.
func (f Frame) Decoded() Object {
	var decoded Object
	_ = json.Unmarshal(f.Payload, &decoded)
	return decoded
}

// Follower is a websocket client that collects all frames.
type Follower struct {
	T      *testing.T
	conn   *websocket.Conn
	mu     sync.Mutex
	frames []Frame
	news   chan struct{} // replaced at every frame
	Ended  chan struct{}
	Err    error
	marker int
}

// Follow opens the stream. query may name a threadId and a cursor.
func (i *Server) Follow(query string) *Follower {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	address := "ws" + strings.TrimPrefix(i.URL, "http") + "/api/stream"
	if query != "" {
		address += "?" + query
	}
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: i.Client()}) //nolint:bodyclose // it is the connection
	if err != nil {
		i.T.Fatal(err)
	}
	conn.SetReadLimit(-1)
	f := &Follower{T: i.T, conn: conn, news: make(chan struct{}), Ended: make(chan struct{})}
	go f.collect()
	i.T.Cleanup(f.Close)
	f.Wait("ready", func(f Frame) bool { return f.Type == "ready" })
	return f
}

// collect decodes the messages of read in another goroutine, because a frame of many megabytes must not make the
// reader slow.
func (f *Follower) collect() {
	defer close(f.Ended)
	raw := make(chan []byte, 1024)
	go f.read(raw)
	for data := range raw {
		var next Frame
		if err := json.Unmarshal(data, &next); err != nil {
			f.T.Errorf("a frame is no JSON: %q", data)
		}
		next.Raw = string(data)
		f.mu.Lock()
		f.frames = append(f.frames, next)
		close(f.news)
		f.news = make(chan struct{})
		f.mu.Unlock()
	}
}

// read runs until the connection ends.
func (f *Follower) read(into chan<- []byte) {
	defer close(into)
	for {
		_, data, err := f.conn.Read(context.Background())
		if err != nil {
			f.mu.Lock()
			f.Err = err
			f.mu.Unlock()
			return
		}
		into <- data
	}
}

// Close closes the connection without a close frame and waits for the reader.
func (f *Follower) Close() {
	_ = f.conn.CloseNow()
	<-f.Ended
}

// All returns the frames received so far.
func (f *Follower) All() []Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Frame(nil), f.frames...)
}

// Wait returns the first matching frame after the previously awaited one.
func (f *Follower) Wait(what string, fits func(Frame) bool) Frame {
	f.T.Helper()
	f.mu.Lock()
	from := f.marker
	f.mu.Unlock()
	found, at := f.await(what, Patience, from, fits)
	f.mu.Lock()
	f.marker = at + 1
	f.mu.Unlock()
	return found
}

// Find returns the first matching frame among all frames, and waits for it if necessary. Unlike Wait, it consumes no
// frame.
func (f *Follower) Find(what string, fits func(Frame) bool) Frame {
	f.T.Helper()
	found, _ := f.await(what, 3*Patience, 0, fits) // restarting an agent takes long
	return found
}

// await returns the first matching frame from a position on, and its position.
func (f *Follower) await(what string, limit time.Duration, from int, fits func(Frame) bool) (Frame, int) {
	f.T.Helper()
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
		case <-f.Ended:
			f.T.Fatalf("the stream ended (%v) before %s; it had %s", f.Err, what, f.Types())
		case <-deadline:
			f.T.Fatalf("no frame: %s; there were %s", what, f.Types())
		}
	}
}

// WaitType waits for a frame of a type.
func (f *Follower) WaitType(frameType string) Frame {
	f.T.Helper()
	return f.Wait(frameType, func(f Frame) bool { return f.Type == frameType })
}

// WaitTurn waits for the end of the turn and returns its status.
func (f *Follower) WaitTurn(turnID string) string {
	f.T.Helper()
	return Text(f.Wait("turn/completed of "+turnID, endOf(turnID)).Decoded(), "params", "turn", "status")
}

// FindTurn is WaitTurn based on Find, for frames that may precede or follow the turn's end.
func (f *Follower) FindTurn(turnID string) string {
	f.T.Helper()
	return Text(f.Find("turn/completed of "+turnID, endOf(turnID)).Decoded(), "params", "turn", "status")
}

func endOf(turnID string) func(Frame) bool {
	return func(f Frame) bool {
		return f.Type == "notification" && Text(f.Decoded(), "method") == "turn/completed" &&
			Text(f.Decoded(), "params", "turn", "id") == turnID
	}
}

// Types returns the types of the last frames, for failure messages.
func (f *Follower) Types() string {
	var out []string
	for _, frame := range f.All() {
		out = append(out, frame.Type)
	}
	if len(out) > 60 {
		out = out[len(out)-60:]
	}
	return strings.Join(out, " ")
}
