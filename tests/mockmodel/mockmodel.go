// Package mockmodel is a scripted language model for tests and demonstrations: a server on loopback that answers the
// real agents without an account and without the internet.
//
// It owns the wire formats of model providers for codex (`POST /v1/responses`), Claude Code (`POST /v1/messages`,
// anthropic.go), Gemini CLI (gemini.go) and OpenCode (`POST /v1/chat/completions`, openai.go), and the small script
// language of user texts (see script.go). It must never know the harness: to it, an agent is just an HTTP client.
package mockmodel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// TB is the part of testing.TB that Start needs. It is declared here so that the development command does not link
// package testing.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server is one running mock model. Create it with New or Start.
type Server struct {
	http     *http.Server
	listener net.Listener
	served   chan struct{}
	stop     context.CancelFunc
	// instance makes item ids unique when several mock models write into one conversation over time: codex uses these
	// ids as its own.
	instance string

	mu       sync.Mutex
	requests []Request
	outputs  []Output
	seen     map[string]bool
	changed  chan struct{}
	holds    map[string]*hold
	counter  int
}

type hold struct {
	release  chan struct{}
	released bool
	holding  int
}

// New starts a mock model on a free loopback port.
func New() (*Server, error) { return Listen("127.0.0.1:0") }

// Listen starts a mock model on the given address.
func Listen(addr string) (*Server, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("mock model can not listen on %s: %w", addr, err)
	}
	return Serve(listener)
}

// Serve starts a mock model on a listener; it closes the listener, also on failure.
func Serve(listener net.Listener) (*Server, error) {
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("mock model needs a random id: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		listener: listener, served: make(chan struct{}), stop: stop, instance: hex.EncodeToString(id[:]),
		seen: map[string]bool{}, changed: make(chan struct{}), holds: map[string]*hold{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", s.respond)
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /v1beta/models/{call}", s.generate)
	mux.HandleFunc("POST /v1beta1/publishers/google/models/{call}", s.generate) // Vertex AI
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener)
	}()
	return s, nil
}

// Start starts a mock model that ends with the test.
func Start(t TB) *Server {
	t.Helper()
	return StartOn(t, func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") })
}

// StartOn is Start with another way to listen.
func StartOn(t TB, listen func() (net.Listener, error)) *Server {
	t.Helper()
	listener, err := listen()
	var s *Server
	if err == nil {
		s, err = Serve(listener)
	}
	if err != nil {
		t.Fatalf("start mock model: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Root returns the address without a path, for example http://127.0.0.1:41500, for ANTHROPIC_BASE_URL and
// GOOGLE_GEMINI_BASE_URL.
func (s *Server) Root() string { return "http://" + s.listener.Addr().String() }

// URL returns the address for codex and OpenAI-compatible providers, for example http://127.0.0.1:41500/v1.
func (s *Server) URL() string { return s.Root() + "/v1" }

// Close ends the server and cuts responses in progress. A second call is allowed.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close()
	<-s.served
}

// Release lets every response held by MOCK_HOLD[name] finish, including later ones.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.holdLocked(name); !h.released {
		h.released = true
		close(h.release)
	}
}

func (s *Server) released(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holdLocked(name).released
}

// WaitHeld returns once MOCK_HOLD[name] holds a response: its first delta is sent and it waits for Release.
func (s *Server) WaitHeld(ctx context.Context, name string) error {
	return s.wait(ctx, "a response held as "+name, func() bool { return s.holdLocked(name).holding > 0 })
}

// WaitRequest returns the n-th request (counted from 1) as soon as it arrives.
func (s *Server) WaitRequest(ctx context.Context, n int) (Request, error) {
	var got Request
	err := s.wait(ctx, fmt.Sprintf("request %d", n), func() bool {
		if len(s.requests) < n {
			return false
		}
		got = s.requests[n-1]
		return true
	})
	return got, err
}

// WaitOutput returns the first tool output for which match is true, as soon as codex reports one.
func (s *Server) WaitOutput(ctx context.Context, match func(Output) bool) (Output, error) {
	var got Output
	err := s.wait(ctx, "a tool output", func() bool {
		for _, o := range s.outputs {
			if match(o) {
				got = o
				return true
			}
		}
		return false
	})
	return got, err
}

// Requests returns all requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Asked returns the body of the last request that contains a text; "" when there is none.
func (s *Server) Asked(text string) string {
	requests := s.Requests()
	for i := len(requests) - 1; i >= 0; i-- {
		if body := string(requests[i].Body); strings.Contains(body, text) {
			return body
		}
	}
	return ""
}

// Outputs returns all tool outputs codex reported so far, each once, oldest first.
func (s *Server) Outputs() []Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Output(nil), s.outputs...)
}

// Forget drops the requests and outputs so far, so that a run of hours does not fill the memory.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.outputs, s.seen = nil, nil, map[string]bool{}
}

func (s *Server) wait(ctx context.Context, what string, done func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := done(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("mock model: no %s: %w", what, ctx.Err())
		}
	}
}

// record stores a request and returns the number of requests so far.
func (s *Server) record(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	for _, o := range r.Outputs {
		if key := o.CallID + "\x00" + o.Text; !s.seen[key] {
			s.seen[key] = true
			s.outputs = append(s.outputs, o)
		}
	}
	s.wakeLocked()
	return len(s.requests)
}

func (s *Server) wakeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) holdLocked(name string) *hold {
	h := s.holds[name]
	if h == nil {
		h = &hold{release: make(chan struct{})}
		s.holds[name] = h
	}
	return h
}

// nextID returns an id for one output item; codex uses it as the id of the thread item.
func (s *Server) nextID(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counter++
	return fmt.Sprintf("%s_%s_%d", prefix, s.instance, s.counter)
}
