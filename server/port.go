package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/api/conns"
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
		log.Warn().Msg("requests were still running and are cut off")
		return p.http.Close()
	}
	return err
}
