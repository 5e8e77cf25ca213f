package database

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
)

// errMoved says that what was read comes from two servers, of which one may not have what the other one showed.
var errMoved = errors.New("the database failed over while it was being read")

// ErrUnsettled says that what was read is not known to survive the loss of the primary, and may not be shown. It is
// Refused.
var ErrUnsettled = errors.New("what was written last still waits for the standby")

// Servers notes which servers of Postgres the statements of a context were put to. It is safe for use by several
// goroutines.
type Servers struct {
	mu    sync.Mutex
	asked bool
	name  string
	moved bool
}

type serversKey struct{}

// NoteServers is a context whose statements are noted.
func NoteServers(ctx context.Context) (context.Context, *Servers) {
	s := &Servers{}
	return context.WithValue(ctx, serversKey{}, s), s
}

// Asked reports whether any server was asked anything.
func (s *Servers) Asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Only is nil when all statements so far were put to this server, as Conn.Server names it. Its error is Refused.
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

// tracer reports to Servers what pgx is asked to do.
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
