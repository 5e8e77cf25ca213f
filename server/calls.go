package server

import (
	"context"
	"net/http"

	"harness/api/calls"
	"harness/internal/content/search"
	"harness/internal/lib/lifecycle"
	"harness/internal/platform/auth"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/services/audit"
	"harness/internal/services/session"
	"harness/transcript"
)

// callLog writes an audit row for each request that may change something.
type callLog struct {
	*core
	*audit.Recorder
	running lifecycle.Loops
}

// Start starts the writer.
func (s *callLog) Start(ctx context.Context) error {
	s.Recorder = audit.NewRecorder(s.journal, s.now, s.log.With().Str("package", "audit").Logger())
	return s.running.Start(ctx, func(context.Context) error {
		s.running.Go(s.Run)
		return nil
	})
}

// Stop writes the rows of the last requests.
func (s *callLog) Stop(ctx context.Context) error {
	ended, err := s.running.Stop(ctx, "the record of requests")
	if !ended {
		return err
	}
	if err := s.Flush(ctx); err != nil {
		s.log.Error().Err(err).Msg("the last requests have no row in the audit log") // a store that refuses writes must not block the stop
	}
	return err
}

// recorded records the requests to a handler beside the API, behind the same guard.
func (s *callLog) recorded(guard func(http.Handler) http.Handler, route func(*http.Request) (calls.Route, bool),
	next http.Handler) http.Handler {
	return calls.Middleware(s.Recorder, route, guard(calls.Admit(next)))
}

func (s *Server) startSearch(ctx context.Context) error {
	s.search = search.New(search.Options{DB: s.db, Entries: transcript.Store{}, Removes: session.RemovesEntries,
		Head: s.journal.Head, Logger: s.log.With().Str("package", "search").Logger()})
	return s.search.Start(ctx)
}

func (s *Server) stopSearch(ctx context.Context) error { return s.search.Stop(ctx) }

// origin returns the actor and the trace of a change.
func origin(ctx context.Context) journal.Origin {
	trace := telemetry.IDsFrom(ctx).Trace
	principal, _ := auth.PrincipalFrom(ctx)
	return journal.Origin{Actor: principal.Actor, Role: principal.Role.Word(), TraceID: trace.TraceID, SpanID: trace.SpanID,
		Name: principal.Name}
}
