package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"harness/api"
	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/platform/cluster/forward"
	"harness/internal/platform/cluster/livetext"
	"harness/internal/platform/config"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/lineage"
	"harness/server/metrics"
	"harness/stream"
)

// nodePort is the port for requests from other nodes, and this node's identity for requests to them.
type nodePort struct {
	identity *forward.Identity
	listener net.Listener
	address  string // the address for other nodes
	client   *forward.Client
	handler  http.Handler
	server   *http.Server
	served   chan struct{} // closed when server stops accepting
}

// openNodePort opens the port and stores its address in the node's row. Early requests wait.
func (s *nodes) openNodePort(ctx context.Context) error {
	configured := s.cfg.Node
	if err := s.cfg.CheckRoles(); err != nil {
		return err
	}
	switch {
	case configured.Address == "" && configured != (config.Node{}):
		return config.Usagef("HARNESS_NODE_TLS_DIR is of no use without HARNESS_NODE_ADDRESS: set it, or unset this")
	case configured.Address == "":
		return nil
	case s.cfg.DatabaseURL == "":
		return config.Usagef("HARNESS_NODE_ADDRESS is for several servers on one Postgres: set DATABASE_URL, or unset it")
	}
	files := forward.Files{}
	if dir := configured.TLSDir; dir != "" { // a Kubernetes TLS secret has these names
		files = forward.Files{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), CA: filepath.Join(dir, "ca.crt")}
	}
	identity, err := forward.NewIdentity(s.dir.NodeID, files)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	host, _, err := net.SplitHostPort(configured.Address)
	if err != nil {
		return fmt.Errorf("HARNESS_NODE_ADDRESS: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", configured.Address)
	if err != nil {
		return fmt.Errorf("listen on HARNESS_NODE_ADDRESS=%s: %w (it must be a free port at an address of this machine)",
			configured.Address, err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.nodePort = &nodePort{identity: identity, listener: listener, address: advertised(net.JoinHostPort(host, port))}
	return nil
}

func (s *nodes) closeNodePort(context.Context) error {
	if s.nodePort == nil {
		return nil
	}
	if err := s.nodePort.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// join forwards clients' requests to the owner of the session, and accepts requests from other nodes. It accepts only
// API requests about sessions that this node owns, and forwards none of them.
func (s *nodes) join(options *api.Options, rpc api.RPC) {
	if s.nodePort == nil {
		return
	}
	accept := &forward.Acceptor{Identity: s.nodePort.identity, DB: s.db, Logger: s.log.With().Str("package", "forward").Logger()}
	doors := map[string]http.Handler{door.OperationsPath: door.NewOperations(options.Operations, nil, s.agentTurns()).Handler(
		func(ctx context.Context) context.Context { return journal.Patient(ctx, options.StoreWait) })}
	s.nodePort.handler = api.New(api.Options{
		Operations: options.Operations, Health: options.Health, Runtime: options.Runtime, Version: options.Version,
		Protocols: api.Protocols{Tasks: options.Tasks, RPC: rpc, AGUI: options.AGUI,
			Doors: doors, AgentDoors: []string{door.OperationsPath}},
		Access: api.Access{Guard: accept.Guard, Actor: options.Actor},
		Answers: api.Answers{Idempotency: options.Idempotency, Reads: options.Reads, Long: options.Long,
			StoreWait: options.StoreWait},
		Observation: api.Observation{Answered: options.Answered, Span: options.Span, Logger: options.Logger},
	})
	s.nodePort.server = accept.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == livetext.Path { // the peer authenticated as a node; no user principal
			s.liveText.ServeHTTP(w, r)
			return
		}
		s.nodePort.handler.ServeHTTP(w, r)
	}))
	options.Owners = s.owners()
}

// ofDoors returns the operations of doors, which other nodes carry out for their sessions.
func (s *nodes) ofDoors(own *operations.Service) *door.Operations {
	if s.nodePort == nil {
		return door.NewOperations(own, nil, nil)
	}
	return door.NewOperations(own, s.owners(), s.agentTurns())
}

// agentTurns returns the turns of sessions whose agents write to sessions of other nodes, nil if none may.
func (s *nodes) agentTurns() door.Turns {
	if s.cfg.ControlAgents != "write" {
		return nil
	}
	return lineage.New(s.db, nil)
}

// owners returns the client by which this node forwards requests to other nodes.
func (s *nodes) owners() metrics.CountingOwners {
	if s.nodePort.client == nil {
		s.nodePort.client = &forward.Client{Identity: s.nodePort.identity, DB: s.db, Sure: s.sure()}
	}
	return s.metrics.Nodes.CountOwners(s.nodePort.client)
}

func (s *nodes) serveNodePort(context.Context) error {
	port := s.nodePort
	if port == nil {
		return nil
	}
	port.served = make(chan struct{})
	go func() {
		defer close(port.served)
		if err := port.server.ServeTLS(port.listener, "", ""); err != nil && !errors.Is(err, http.ErrServerClosed) &&
			!errors.Is(err, net.ErrClosed) {
			s.fail(fmt.Errorf("the node port broke: %w", err))
		}
	}()
	s.log.Info().Str("address", port.address).Bool("ca", s.cfg.Node.TLSDir != "").Msg("other nodes may ask this one")
	return nil
}

// stopNodePort lets requests in progress finish. At the time limit it cuts off the rest, as it does for requests of
// clients.
func (s *nodes) stopNodePort(ctx context.Context) error {
	port := s.nodePort
	if port == nil {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/10))
		defer cancel()
	}
	port.client.Close()
	err := port.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Warn().Msg("requests of other nodes cut off by the shutdown")
		err = port.server.Close()
	}
	<-port.served
	return err
}

// carryLiveText makes the carrier of text that is not stored yet, nil without a node port. It returns the function by
// which the journal passes such text to the carrier.
func (s *nodes) carryLiveText() func(after int64, events []journal.Event) {
	if s.nodePort == nil {
		return nil
	}
	s.liveText = livetext.New(livetext.Options{
		Self: s.dir.NodeID, TakeoverOf: session.Taking, CheckLease: s.sure(),
		Watched: func() (map[string]struct{}, bool) { return s.hub.Watched() },
		Meta: func(known any) (json.RawMessage, error) {
			meta, is := known.(*stream.Meta)
			if !is {
				return nil, fmt.Errorf("an event has a %T as its meta", known)
			}
			return stream.EncodeMeta(*meta), nil
		},
		Logger: s.log.With().Str("package", "early").Logger(), Sent: s.metrics.Nodes.CountLiveText("sent"),
		Received: s.metrics.Nodes.CountLiveText("received"), Dropped: s.metrics.Nodes.CountLiveText("dropped"),
	})
	return s.liveText.Enqueue
}

// watchedChanged returns the function that notifies the carrier of a change of the followed sessions; nil if there is no
// carrier.
func (s *nodes) watchedChanged() func() {
	if s.liveText == nil {
		return nil
	}
	return s.liveText.Changed
}

func (s *nodes) startLiveText(ctx context.Context) error {
	if s.liveText == nil {
		return nil
	}
	return s.liveText.Start(ctx, s.journal, s.nodePort.client)
}

func (s *nodes) stopLiveText(ctx context.Context) error {
	if s.liveText == nil {
		return nil
	}
	return s.liveText.Stop(ctx)
}
