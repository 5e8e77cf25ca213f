package database

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
)

// errMoved means that the data came from two servers, one of which may lack the other's data.
var errMoved = errors.New("the database failed over while it was being read")

// ErrUnsettled means that the data may not survive a loss of the primary, and must not be shown. It is Refused.
var ErrUnsettled = errors.New("the last write is not on the standby yet")

// Servers records which Postgres servers ran the statements of a context. It is safe for concurrent use.
type Servers struct {
	mu    sync.Mutex
	asked bool
	name  string
	moved bool
}

type serversKey struct{}

// NoteServers returns a context that records the servers of its statements.
func NoteServers(ctx context.Context) (context.Context, *Servers) {
	s := &Servers{}
	return context.WithValue(ctx, serversKey{}, s), s
}

// Asked reports whether any statement ran.
func (s *Servers) Asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Only returns nil if a single server, with this Conn.Server, ran all statements so far. Its error is Refused.
func (s *Servers) Only(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved || s.asked && s.name != name {
		return errMoved
	}
	return nil
}

func (s *Servers) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = s.moved || s.asked && s.name != name
	s.asked, s.name = true, name
}

// tracer reports the statements of pgx to Servers.
type tracer struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if s, noted := ctx.Value(serversKey{}).(*Servers); noted {
		s.note(serverOf(conn))
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
