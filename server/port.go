package server

import (
	"context"
	"errors"
	"fmt"
	"harness/api/conns"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"
)

// httpPort is a port that answers HTTP from before the parts behind it have started.
type httpPort struct {
	listener net.Listener
	limiter  *conns.Limiter
	gate     *conns.StartupGate
	http     *http.Server
	served   chan struct{} // closed when http accepts no more
}

// serve accepts connections; requests wait until the gate opens. failed is called when accepting ends by itself.
func (p *httpPort) serve(options conns.Options, failed func(error)) {
	p.gate, p.limiter = conns.NewStartupGate(), conns.NewLimiter(options)
	p.http, p.served = p.limiter.Server(p.gate), make(chan struct{})
	go func() {
		defer close(p.served)
		err := p.http.Serve(p.limiter.Listener(p.listener))
		if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			failed(fmt.Errorf("the HTTP server broke: %w", err))
		}
	}()
}

func (p *httpPort) close() error {
	if p.listener == nil {
		return nil
	}
	if err := p.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// stop lets requests under way finish. What is left at the bound is cut off, which is an orderly end all the same: a
// client may wait for its turn or send its body as long as it likes. Sockets are hijacked and belong to the stream.
func (p *httpPort) stop(ctx context.Context, log zerolog.Logger) error {
	// The last tenth of the bound is for cutting off.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/10))
		defer cancel()
	}
	// No new connections, and no idle ones: Shutdown would wait for a browser's spare connection.
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
