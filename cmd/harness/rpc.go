package main

import (
	"context"
	"net/http"
	"slices"

	"harness/api"
	"harness/api/rpc"
	"harness/internal/operations"
	"harness/internal/platform/journal"
	"harness/stream"
)

// startRPC makes what serves JSON-RPC.
func (s *Server) startRPC(ctx context.Context) (err error) {
	options := rpc.Options{
		Reads: s.journal, Operations: operations.New(s.operations()), Version: version, Strict: s.cfg.RPC.Strict, Rate: s.cfg.RPC.Rate,
		Yolo: s.cfg.AllowYolo,
		Context: func(ctx context.Context) context.Context {
			return journal.Patient(ctx, s.cfg.StoreWait)
		},
	}
	if s.nodePort != nil {
		options.Owners, options.Owns = s.owners(), s.sessions.Owns
	}
	if s.rpc, err = rpc.New(options); err != nil {
		return err
	}
	return s.rpc.Start(ctx)
}

func (s *Server) stopRPC(ctx context.Context) error { return s.rpc.Stop(ctx) }

// rpcHandlers serve it where the configuration says; its sockets count with the stream's.
func (s *Server) rpcHandlers(streams *stream.Handler) api.RPC {
	sockets := rpc.Upgrades(streams.For(s.rpc))
	handlers := api.RPC{Sockets: map[string]http.Handler{}, Document: s.rpc.Document()}
	for _, path := range s.cfg.RPC.Paths {
		handlers.Sockets[path] = sockets
	}
	if slices.Contains(s.cfg.RPC.Paths, "/rpc") {
		handlers.Post = s.rpc.Post()
	}
	return handlers
}
