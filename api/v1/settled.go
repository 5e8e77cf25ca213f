package v1

import (
	"cmp"
	"context"
	"net/http"

	"harness/internal/services/tasks"
)

// settled is handle, but delays a response until the data it contains may be shown. A change may be shown
// immediately, because it was committed after everything it read.
func (s *Server) settled(w http.ResponseWriter, r *http.Request, rt route) error {
	if s.opts.Reads == nil {
		return s.handle(w, r, rt)
	}
	ctx := s.opts.Reads.Reading(r.Context())
	r = r.WithContext(ctx)
	if rt.Method == http.MethodGet {
		held := &heldWriter{ResponseWriter: w, ctx: ctx, settled: s.opts.Reads.Settled}
		err := s.handle(held, r, rt)
		if err == nil || held.begun {
			return cmp.Or(held.refused, err)
		}
		return cmp.Or(s.opts.Reads.Settled(ctx), err)
	}
	err := s.handle(w, r, rt)
	if err != nil && refusalOf(err, r).status < http.StatusInternalServerError {
		return cmp.Or(s.opts.Reads.Settled(ctx), err)
	}
	return err
}

// next reads the next events of a stream and returns once they may be shown.
func (s *Server) next(ctx context.Context, reader *tasks.Reader) ([]tasks.Event, error) {
	if s.opts.Reads == nil {
		return reader.Next(ctx, pageSize)
	}
	ctx = s.opts.Reads.Reading(ctx)
	found, err := reader.Next(ctx, pageSize)
	return found, cmp.Or(err, s.opts.Reads.Settled(ctx))
}

// heldWriter starts a response once the data in it may be shown. If it may not, heldWriter sends nothing.
type heldWriter struct {
	http.ResponseWriter
	ctx     context.Context
	settled func(ctx context.Context) error
	begun   bool
	refused error
}

// WriteHeader implements http.ResponseWriter.
func (w *heldWriter) WriteHeader(status int) {
	if w.begin() == nil {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (w *heldWriter) Write(data []byte) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(data)
}

func (w *heldWriter) begin() error {
	if !w.begun {
		if w.begun, w.refused = true, w.settled(w.ctx); w.refused != nil {
			w.Header().Del("Content-Length")
		}
	}
	return w.refused
}

// Unwrap supports http.ResponseController.
func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
