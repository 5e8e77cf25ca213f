package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
)

// hub is one way to deliver an event to all sockets.
type hub interface {
	// join serves a socket until it ends.
	join(w http.ResponseWriter, r *http.Request)
	publish(payload []byte)
}

// serveBaseline is `bench baseline <way> <port> <bytes>`. POST /publish sends an event of this size to every socket
// of /api/stream. It stores nothing.
func serveBaseline(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: bench baseline coder|gorilla|raw <port> <bytes>")
	}
	var h hub
	switch args[0] {
	case "coder":
		h = &channels{serve: serveCoder, sockets: map[*subscriber]struct{}{}}
	case "gorilla":
		h = &channels{serve: serveGorilla, prepare: prepareGorilla, sockets: map[*subscriber]struct{}{}}
	case "raw":
		raw, err := newRaw()
		if err != nil {
			return err
		}
		h = raw
	default:
		return fmt.Errorf("there is no way %q", args[0])
	}
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	payload := []byte(`{"type":"transcript_updated","content":"` + strings.Repeat("x", size-42) + `"}`)
	mux := http.NewServeMux()
	mux.HandleFunc("/api/ready", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("/api/stream", h.join)
	mux.HandleFunc("/publish", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.publish(payload)
		_, _ = io.WriteString(w, "ok")
	})
	return http.ListenAndServe("127.0.0.1:"+args[1], mux)
}

// channels is the usual hub: a goroutine and a channel for each socket, one write per event.
type channels struct {
	serve   func(w http.ResponseWriter, r *http.Request, events <-chan any)
	prepare func(payload []byte) any

	mu      sync.Mutex
	sockets map[*subscriber]struct{}
}

type subscriber struct {
	events chan any
	gone   chan struct{} // closed when the server stops serving it
}

func (c *channels) join(w http.ResponseWriter, r *http.Request) {
	s := &subscriber{make(chan any, 256), make(chan struct{})}
	c.mu.Lock()
	c.sockets[s] = struct{}{}
	c.mu.Unlock()
	c.serve(w, r, s.events)
	close(s.gone)
	c.mu.Lock()
	delete(c.sockets, s)
	c.mu.Unlock()
}

func (c *channels) publish(payload []byte) {
	var event any = payload
	if c.prepare != nil {
		event = c.prepare(payload)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.sockets {
		select {
		case s.events <- event:
		case <-s.gone:
		}
	}
}

func serveCoder(w http.ResponseWriter, r *http.Request, events <-chan any) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx := conn.CloseRead(context.Background())
	for {
		select {
		case event := <-events:
			if err := conn.Write(ctx, websocket.MessageText, event.([]byte)); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func prepareGorilla(payload []byte) any {
	prepared, err := gorilla.NewPreparedMessage(gorilla.TextMessage, payload)
	if err != nil {
		panic(err)
	}
	return prepared
}

func serveGorilla(w http.ResponseWriter, r *http.Request, events <-chan any) {
	conn, err := (&gorilla.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	go func() {
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				_ = conn.Close()
				return
			}
		}
	}()
	for event := range events {
		if err := conn.WritePreparedMessage(event.(*gorilla.PreparedMessage)); err != nil {
			return
		}
	}
}

// encodeFrame returns an unmasked text frame.
func encodeFrame(payload []byte) []byte {
	frame := []byte{0x81, 126, 0, 0}
	binary.BigEndian.PutUint16(frame[2:], uint16(len(payload)))
	return append(frame, payload...)
}

// takeOver answers the websocket handshake itself and returns the connection.
func takeOver(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	return conn, buffered, err
}
