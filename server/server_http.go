package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"harness/api"
	"harness/api/acp"
	"harness/api/admin"
	"harness/api/appserver"
	"harness/api/calls"
	"harness/api/conns"
	"harness/api/mcp"
	"harness/api/rpc"
	"harness/api/sessions"
	"harness/console"
	"harness/internal/lib/version"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/config"
	"harness/internal/platform/journal"
	"harness/stream"
)

func (s *Server) startHTTP(context.Context) error {
	sockets := stream.NewHandler(s.hub, stream.HandlerOptions{
		MaxConnections: s.cfg.Limits.Streams, MaxPerAddress: s.cfg.Limits.StreamsPerAddress,
		Access: func(r *http.Request) context.Context { return auth.AccessFrom(r.Context()) },
		Reach: func(r *http.Request) stream.Reach {
			if limit := auth.ProjectsFrom(r.Context()); limit != nil {
				return limit
			}
			return nil // not a nil *auth.Projects
		},
	})
	pages, err := s.pages()
	if err != nil {
		return err
	}
	rules := s.access.accessRules(pages)
	s.access.logins = auth.NewLogins(rules, s.cfg.BasePath+"/")
	parts := s.operations()
	if s.cfg.Runs() {
		if parts.Files, err = s.access.browser(); err != nil {
			return err
		}
	}
	options := api.Options{
		Operations: operations.New(parts), Health: health{s}, Version: version.Program(),
		Protocols: api.Protocols{Stream: sockets, RPC: s.rpcHandlers(sockets), Doors: s.doors(sockets), Tasks: s.taskAPI,
			Pages: pages.beside, AGUI: s.agui(),
			Metrics: promhttp.HandlerFor(s.metrics.Registry, promhttp.HandlerOpts{})},
		Access: api.Access{Guard: s.guards(rules), Agents: agentScopes{s}, Actor: actor, LocalAccess: s.access.localAccess},
		Administration: api.Administration{Lifecycle: s.extensions.lifecycle(), Tokens: s.access.tokens, Logins: s.access.logins,
			OIDC: admin.OIDC{Providers: s.access.providers, Kept: s.access.accounts}},
		Answers: api.Answers{Artifacts: s.artifacts, Idempotency: s.answers, Reads: s.journal,
			Long: sessions.NewLongAnswers(s.cfg.DataDir), StoreWait: s.cfg.Limits.StoreWait},
		Observation: api.Observation{Calls: s.calls.Recorder, Limiters: []*conns.Limiter{s.people.limiter, s.agents.limiter},
			Beside: s.besideRoute, Answered: s.metrics.HTTP.Answered, Span: s.spans.Request, Logger: s.log.With().Str("package", "api").Logger()},
	}
	if s.runtimes.codex != nil {
		options.Runtime = s.runtimes.codex
	}
	if s.control != nil && s.cfg.ControlAgents != "off" {
		options.AgentDoors = []string{mcp.Path}
	}
	if s.notifications.push != nil {
		options.Push = s.notifications.push
	}
	for _, one := range s.cfg.All() {
		options.Settings = append(options.Settings, sessions.Setting{Name: one.Name, Value: one.Value, Source: string(one.Source)})
	}
	s.nodes.join(&options, api.RPC{Post: s.rpc.Post()})
	s.people.http.RegisterOnShutdown(s.taskAPI.Close) // otherwise Shutdown would wait for streams of events
	all := s.ofRole(s.notifications.besideLinks(options.Guard, options.Operations, s.runtimes.tools.beside(options.Guard, api.New(options))))
	s.agents.open(all)
	handler := console.Under(s.cfg.BasePath, all)
	if s.front != nil {
		handler = s.front(handler)
	}
	s.people.gate.Open(besideAppSocket(all, handler))
	return nil
}

// besideRoute returns the route of a request that besideLinks, the tools or the control over MCP serve.
func (s *Server) besideRoute(r *http.Request) (calls.Route, bool) {
	if route, is := s.notifications.linkRoute(r); is {
		return route, true
	}
	if s.control != nil && r.URL.Path == mcp.Path {
		return mcp.Route(r), true
	}
	return s.runtimes.tools.route(r)
}

// startRPC makes the JSON-RPC handler.
func (s *Server) startRPC(ctx context.Context) (err error) {
	options := rpc.Options{
		Reads: s.journal, Operations: s.nodes.ofDoors(operations.New(s.operations())), Version: version.Program(), Strict: s.cfg.RPC.Strict,
		Rate: s.cfg.Limits.RPCRate, Yolo: s.cfg.AllowYolo, Context: s.patient, Owns: s.sessions.Ownership.Owns,
	}
	if s.rpc, err = rpc.New(options); err != nil {
		return err
	}
	return s.rpc.Start(ctx)
}

// startProtocols makes the handlers of JSON-RPC and of front ends.
func (s *Server) startProtocols(ctx context.Context) error {
	err := s.startRPC(ctx)
	if err == nil && s.cfg.HasDoor(config.DoorAppServer) {
		err = s.startAppServer(ctx)
	}
	if err == nil && s.cfg.HasDoor(config.DoorACP) {
		err = s.startACP(ctx)
	}
	if err == nil && s.cfg.HasDoor(config.DoorMCP) {
		s.control, err = newControl(s)
	}
	return err
}

func (s *Server) startAppServer(ctx context.Context) (err error) {
	s.app, err = appserver.New(appserver.Options{
		Operations: s.nodes.ofDoors(operations.New(s.operations())), Journal: s.journal, Reads: s.journal, Version: version.Program(),
		Rate: s.cfg.Limits.RPCRate, Context: s.patient, Refused: s.metrics.Doors.Refused(config.DoorAppServer),
	})
	if err != nil {
		return err
	}
	return s.app.Start(ctx)
}

func (s *Server) startACP(ctx context.Context) (err error) {
	s.acp, err = acp.New(acp.Options{
		Operations: s.nodes.ofDoors(operations.New(s.operations())), Journal: s.journal, Reads: s.journal, Version: version.Program(),
		Rate: s.cfg.Limits.RPCRate, Context: s.patient, Refused: s.metrics.Doors.Refused(config.DoorACP),
		Yolo: s.cfg.AllowYolo, Images: s.artifacts,
	})
	if err != nil {
		return err
	}
	return s.acp.Start(ctx)
}

func (s *Server) stopProtocols(ctx context.Context) error {
	var doors []error
	if s.app != nil {
		doors = append(doors, s.app.Stop(ctx))
	}
	if s.acp != nil {
		doors = append(doors, s.acp.Stop(ctx))
	}
	if s.control != nil {
		doors = append(doors, s.control.Stop(ctx))
	}
	return errors.Join(append(doors, s.rpc.Stop(ctx))...)
}

// patient lets calls of sockets wait for a store that refuses writes.
func (s *Server) patient(ctx context.Context) context.Context {
	return journal.Patient(ctx, s.cfg.Limits.StoreWait)
}

// doors serve the protocols of front ends, by path. Their sockets count with the stream's.
func (s *Server) doors(streams *stream.Handler) map[string]http.Handler {
	doors := map[string]http.Handler{}
	if s.app != nil {
		doors["/"] = streams.For(s.app).Reading(appserver.MaxMessage) // codex dials no other path
	}
	if s.acp != nil {
		doors["/acp"] = s.acp.Handler(streams.For(s.acp).Reading(acp.MaxMessage))
	}
	if s.control != nil {
		doors[mcp.Path] = s.control
	}
	return doors
}

// rpcHandlers serves JSON-RPC; /ws is the path that cdev's clients use. Its sockets count with the stream's.
func (s *Server) rpcHandlers(streams *stream.Handler) api.RPC {
	sockets := rpc.Upgrades(streams.For(s.rpc))
	return api.RPC{Sockets: map[string]http.Handler{"/rpc": sockets, "/ws": sockets}, Document: s.rpc.Document(), Post: s.rpc.Post()}
}

// pages are the browser pages beside the API; none without HARNESS_CONSOLE.
type pages struct {
	open   func(*http.Request) bool
	beside func(api http.Handler) http.Handler
}

func (s *Server) pages() (pages, error) {
	if !s.cfg.Console {
		return pages{}, nil
	}
	site, err := console.New(s.cfg.BasePath)
	if err != nil {
		return pages{}, err
	}
	return pages{open: site.Serves, beside: site.Beside}, nil
}
