package main

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"harness/api"
	"harness/console"
	"harness/internal/operations"
	"harness/internal/platform/auth"
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
	rules := s.accessRules(pages)
	s.access.logins = auth.NewLogins(rules, s.cfg.BasePath+"/")
	options := api.Options{
		Operations: operations.New(s.operations()), Health: health{s}, Stream: sockets, RPC: s.rpcHandlers(sockets),
		Calls: s.calls.Recorder, Limiter: s.people.limiter, Artifacts: s.artifacts, Tasks: s.taskAPI, Tokens: s.tokens, Idempotency: s.answers,
		Metrics: promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}),
		Guard:   s.guards(rules), Logins: s.access.logins, LocalAccess: s.localAccess, Pages: pages.beside,
		OIDC:   api.OIDC{Providers: s.providers, Kept: s.logins},
		Agents: agentScopes{s},
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
	s.people.http.RegisterOnShutdown(s.taskAPI.Close) // streams of events would be waited for
	all := s.ofRole(s.besideLinks(options.Guard, options.Operations, s.tools.beside(options.Guard, api.New(options))))
	s.agents.open(all)
	handler := console.Under(s.cfg.BasePath, all)
	if s.front != nil {
		handler = s.front(handler)
	}
	s.people.gate.Open(handler)
	return nil
}
