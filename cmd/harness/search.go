package main

import (
	"context"

	"harness/internal/content/search"
	"harness/internal/services/session"
	"harness/transcript"
)

func (s *Server) startSearch(ctx context.Context) error {
	s.search = search.New(search.Options{DB: s.db, Entries: transcript.Store{}, Removes: session.RemovesEntries,
		Head: s.journal.Head, Logger: s.log.With().Str("package", "search").Logger()})
	return s.search.Start(ctx)
}

func (s *Server) stopSearch(ctx context.Context) error { return s.search.Stop(ctx) }
