package telemetry

import (
	"context"
	"iter"
	"sync"

	"github.com/rs/zerolog"
)

// IDs are the ids that tie a log line, a journal row and a request together.
// An empty one is unknown.
type IDs struct {
	Request string
	Session string
	Trace   Trace
}

type scopeKey struct{}

// scope does not change; each With* makes a new one.
type scope struct {
	base *zerolog.Logger // as given to WithRequest, without ids; nil writes nothing
	ids  IDs

	once sync.Once
	log  *zerolog.Logger // base with the ids, made when the first line is written: most scopes write none
}

// WithRequest puts the process's logger, which must not change afterwards, into the context. It adds the id of an HTTP
// request, and the id of the request's trace.
func WithRequest(ctx context.Context, log *zerolog.Logger, id string, trace Trace) context.Context {
	return derive(ctx, func(s *scope) { s.base, s.ids.Request, s.ids.Trace = log, id, trace })
}

// WithTrace makes work that continues later part of the trace in which it was requested.
func WithTrace(ctx context.Context, trace Trace) context.Context {
	return derive(ctx, func(s *scope) { s.ids.Trace = trace })
}

// WithSession adds the id of the session that the work belongs to.
func WithSession(ctx context.Context, id string) context.Context {
	return derive(ctx, func(s *scope) { s.ids.Session = id })
}

// Log returns the logger whose lines carry the context's ids. For a context without a logger it returns one that writes
// nothing, so that no caller needs a check.
func Log(ctx context.Context) *zerolog.Logger {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s.logger()
	}
	nop := zerolog.Nop()
	return &nop
}

// Line starts one line of Log at a level, without making a logger for it. It returns nil, whose methods do nothing, if
// that level is not written.
func Line(ctx context.Context, level zerolog.Level) *zerolog.Event {
	s, ok := ctx.Value(scopeKey{}).(*scope)
	if !ok || s.base == nil {
		return nil
	}
	event := s.base.WithLevel(level)
	for name, value := range s.fields() {
		event = event.Str(name, value)
	}
	return event
}

// IDsFrom returns the ids of the context.
func IDsFrom(ctx context.Context) IDs {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s.ids
	}
	return IDs{}
}

func derive(ctx context.Context, change func(*scope)) context.Context {
	next := &scope{}
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		next.base, next.ids = s.base, s.ids
	}
	change(next)
	return context.WithValue(ctx, scopeKey{}, next)
}

// logger makes the logger from its base: adding a field twice to a zerolog logger would write the key twice.
func (s *scope) logger() *zerolog.Logger {
	s.once.Do(func() {
		made := zerolog.Nop()
		if s.base != nil {
			with := s.base.With()
			for name, value := range s.fields() {
				with = with.Str(name, value)
			}
			made = with.Logger()
		}
		s.log = &made
	})
	return s.log
}

// fields returns the known ids, by their names in a line.
func (s *scope) fields() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, f := range [...]struct{ name, value string }{
			{"request_id", s.ids.Request}, {"session_id", s.ids.Session},
			{"trace_id", s.ids.Trace.TraceID}, {"span_id", s.ids.Trace.SpanID},
		} {
			if f.value != "" && !yield(f.name, f.value) {
				return
			}
		}
	}
}
