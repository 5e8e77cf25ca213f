package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/api/conns"
	"harness/internal/runtime/process/shim"
)

// httpPort is a port that answers HTTP before the parts behind it have started.
type httpPort struct {
	listener net.Listener
	socket   net.Listener // of the app server, nil for none
	limiter  *conns.Limiter
	gate     *conns.StartupGate
	http     *http.Server
	served   chan struct{} // closed when http stops accepting
}

// serve accepts connections; requests wait until the gate opens. serve calls failed if accepting ends unexpectedly.
func (p *httpPort) serve(options conns.Options, failed func(error)) {
	p.gate, p.limiter = conns.NewStartupGate(), conns.NewLimiter(options)
	p.http, p.served = p.limiter.Server(p.gate), make(chan struct{})
	var accepting sync.WaitGroup
	for _, listener := range p.listeners() {
		accepting.Go(func() {
			err := p.http.Serve(p.limiter.Listener(listener))
			if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				failed(fmt.Errorf("the HTTP server broke: %w", err))
			}
		})
	}
	go func() {
		defer close(p.served)
		accepting.Wait()
	}()
}

func (p *httpPort) listeners() (all []net.Listener) {
	for _, one := range []net.Listener{p.listener, p.socket} {
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

func (p *httpPort) close() error {
	var failed []error
	for _, one := range p.listeners() {
		if err := one.Close(); !errors.Is(err, net.ErrClosed) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// stop lets requests in progress finish. At the time limit it cuts off the rest, which is still an orderly end: a
// client may wait for its turn or send its body as long as it likes. Sockets are hijacked and belong to the stream.
func (p *httpPort) stop(ctx context.Context, log zerolog.Logger) error {
	// The last tenth of the time is for the cutoff.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/10))
		defer cancel()
	}
	// Close new and idle connections too: Shutdown would wait for a browser's spare connection.
	if err := p.close(); err != nil || p.http == nil {
		return err
	}
	<-p.served
	p.limiter.CloseUnopened()
	err := p.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn().Msg("requests cut off by the shutdown")
		return p.http.Close()
	}
	return err
}

// appSocket is the socket in the data directory at which codex's front ends of this user connect
// (`codex --remote unix://PATH`).
const appSocket = "app-server.sock"

// openAppSocket opens the socket for this user's programs, nil in a folder whose path is too long for a socket.
func openAppSocket(ctx context.Context, dir string, log zerolog.Logger) (net.Listener, error) {
	path := filepath.Join(dir, appSocket)
	if len(path) > shim.MaxSocketPath {
		log.Info().Str("path", path).Msg("codex's front ends connect by TCP only: the path is too long for a unix socket")
		return nil, nil //nolint:nilnil // there is none
	}
	_ = os.Remove(path) // of a server that was killed; this one has the folder's lock
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for codex's front ends: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("protect the socket for codex's front ends: %w", err)
	}
	return &outsiders{listener, os.Getenv(shim.GenerationVariable), log}, nil
}

// outsiders accepts no connections of agents. Their fence does not cover unix sockets, and the folder is hidden from
// them only where files can be hidden.
type outsiders struct {
	net.Listener
	outer string // the runtime in which this server runs
	log   zerolog.Logger
}

// Accept implements net.Listener.
func (l *outsiders) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		refused := shim.CheckPeer(conn, l.outer)
		if refused == nil {
			return conn, nil
		}
		l.log.Warn().Err(refused).Msg("refused a connection to the socket for codex's front ends")
		_ = conn.Close()
	}
}

// besideAppSocket serves the requests of the socket: codex's upgrade alone, under the rules for programs of this
// machine. next serves all others.
func besideAppSocket(api, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if at == nil || at.Network() != "unix" {
			next.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodGet || r.URL.Path != "/rpc" || r.Header.Get("Upgrade") == "" {
			http.Error(w, "this socket serves codex's app-server protocol, on a websocket at /rpc", http.StatusNotFound)
			return
		}
		upgrade := r.Clone(r.Context())
		upgrade.URL, upgrade.RequestURI, upgrade.RemoteAddr = &url.URL{Path: "/"}, "/", "127.0.0.1:0"
		api.ServeHTTP(w, upgrade)
	})
}
