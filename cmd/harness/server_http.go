package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"harness/api"
	"harness/auth"
	"harness/console"
	"harness/operations"
	"harness/stream"
)

func (s *Server) startHTTP(context.Context) error {
	agents := newAgents(s)
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
	rules := auth.Options{
		BoundHost: s.cfg.Host, AllowedHosts: s.cfg.AllowedHosts, AllowedOrigins: s.cfg.AllowedOrigins,
		PublicURL: s.cfg.Notify.PublicURL,
		Token:     s.cfg.AuthToken, Named: s.named(), Signed: auth.NewSigned(auth.NewRBAC(s.rbacOptions())), TrustedProxies: trustedProxies(s.cfg),
		Bearers: s.bearers(),
		Agent:   agents.of,
		Open:    func(r *http.Request) bool { return s.isLink(r) || pages.open != nil && pages.open(r) },
		Refused: s.metrics.http.guardRefused,
	}
	options := api.Options{
		Operations: operations.New(s.operations()), Health: health{s}, Stream: sockets, RPC: s.rpcHandlers(sockets),
		Calls: s.calls.Recorder, Limiter: s.limiter, Artifacts: s.artifacts, Tasks: s.taskAPI, Tokens: s.tokens, Idempotency: s.answers,
		Metrics: promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}),
		Guard:   auth.Guard(rules), Logins: auth.NewLogins(rules, s.cfg.BasePath+"/"), OIDC: api.OIDC{Providers: s.providers, Kept: s.logins}, Pages: pages.beside,
		Agents: agents,
		Actor:  actor, Answered: s.metrics.http.answered, Span: s.spans.Request,
		Logger: s.log.With().Str("package", "api").Logger(), Version: version, StoreWait: s.cfg.StoreWait,
		Lifecycle: s.lifecycle(), Reads: s.journal, Long: api.NewLongAnswers(s.cfg.DataDir),
	}
	if s.codex != nil {
		options.Runtime = s.codex
	}
	if s.push != nil {
		options.Push = s.push
	}
	for _, one := range s.cfg.All() {
		options.Settings = append(options.Settings, api.Setting{Name: one.Name, Value: one.Value, Source: string(one.Source)})
	}
	s.joinNodes(&options)
	s.http.RegisterOnShutdown(s.taskAPI.Close) // streams of events would be waited for
	handler := console.Under(s.cfg.BasePath, s.ofRole(agents, s.besideLinks(options.Guard, options.Operations,
		s.tools.beside(options.Guard, api.New(options)))))
	if s.front != nil {
		handler = s.front(handler)
	}
	s.gate.Open(handler)
	return nil
}
