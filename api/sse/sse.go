// Package sse writes streams of server-sent events.
//
// It owns their format, how long a client may read nothing, and how many streams are open. It must never know what an
// event is about.
package sse

import (
	"net/http"
	"sync/atomic"
	"time"

	"harness/internal/lib/javascript"
)

// lingers is how many timeouts the server waits for a client that reads nothing. The client can still read the sent
// events and the end of the stream. Then the server disconnects it.
const lingers = 5

// Writer writes a stream. Err is the error of the first failed write.
type Writer struct {
	Err error
	// Slow reports that the client read nothing until the timeout.
	Slow bool

	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// Begin sends the header of a stream to a client that may read nothing for a time.
func Begin(w http.ResponseWriter, timeout time.Duration) *Writer {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Writer{w: w, control: http.NewResponseController(w), timeout: timeout}
}

// Write writes text, which Flush sends.
func (o *Writer) Write(text []byte) {
	o.patiently(func() error {
		_, err := o.w.Write(text)
		return err
	})
}

// Flush sends what is written.
func (o *Writer) Flush() { o.patiently(o.control.Flush) }

// patiently runs a function that waits for the client.
func (o *Writer) patiently(do func() error) {
	if o.Err != nil {
		return
	}
	began := time.Now()
	// Without write deadlines, a connection waits as long as its client does.
	_ = o.control.SetWriteDeadline(began.Add(lingers * o.timeout))
	o.Err = do()
	o.Slow = o.Slow || time.Since(began) > o.timeout
}

// Event sends an event about the stream itself.
func (o *Writer) Event(name string, data any) {
	o.Write([]byte("event: " + name + "\ndata: " + string(javascript.MustEncode(data)) + "\n\n"))
	o.Flush()
}

// Data writes an event with an id, "" for none. data is JSON in one line.
func (o *Writer) Data(id string, data []byte) {
	frame := make([]byte, 0, len(id)+len(data)+16)
	if id != "" {
		frame = append(append(append(frame, "id: "...), id...), '\n')
	}
	o.Write(append(append(append(frame, "data: "...), data...), "\n\n"...))
}

// Beat sends a sign of life.
func (o *Writer) Beat() {
	o.Write([]byte(":heartbeat\n\n"))
	o.Flush()
}

// Limit counts open streams. Most is their limit, 0 for none.
type Limit struct {
	Most int
	open atomic.Int64
}

// Join admits one more stream, unless the limit is reached. Call Leave when it ends.
func (l *Limit) Join() bool {
	if l.open.Add(1) > int64(l.Most) && l.Most > 0 {
		l.open.Add(-1)
		return false
	}
	return true
}

// Leave ends a stream.
func (l *Limit) Leave() { l.open.Add(-1) }
