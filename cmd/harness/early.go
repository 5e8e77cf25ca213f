package main

import (
	"context"
	"encoding/json"
	"fmt"

	"harness/internal/platform/journal"
	"harness/internal/platform/journal/early"
	"harness/internal/services/session"
	"harness/stream"
)

// tellEarly makes the carrier of text that is not stored yet, nil without a node port, and is how the journal uses it.
func (s *Server) tellEarly() func(after int64, events []journal.Event) {
	if s.nodePort == nil {
		return nil
	}
	s.early = early.New(early.Options{
		Self: s.dir.nodeID, Taking: session.Taking, Sure: s.sure(),
		Watched: func() (map[string]struct{}, bool) { return s.hub.Watched() },
		Meta: func(known any) (json.RawMessage, error) {
			meta, is := known.(*stream.Meta)
			if !is {
				return nil, fmt.Errorf("an event has a %T as its meta", known)
			}
			return stream.EncodeMeta(*meta), nil
		},
		Logger: s.log.With().Str("package", "early").Logger(), Sent: s.metrics.nodes.countEarly("sent"),
		Received: s.metrics.nodes.countEarly("received"), Dropped: s.metrics.nodes.countEarly("dropped"),
	})
	return s.early.Told
}

// watchedChanged is how the stream says that others are followed, nil as tellEarly.
func (s *Server) watchedChanged() func() {
	if s.early == nil {
		return nil
	}
	return s.early.Changed
}

func (s *Server) startEarly(ctx context.Context) error {
	if s.early == nil {
		return nil
	}
	return s.early.Start(ctx, s.journal, s.nodePort.client)
}

func (s *Server) stopEarly(ctx context.Context) error {
	if s.early == nil {
		return nil
	}
	return s.early.Stop(ctx)
}
