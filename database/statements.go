package database

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"sync"
)

// maxStatements bounds a pool's prepared statements. Query texts are constants but for the number of rows, so the bound is a safety net.
const maxStatements = 512

// statements keeps prepared statements by their text: parsing costs SQLite more than most of ours take to run. pgx does this by itself.
// A text is prepared once it was seen, outside any transaction, because preparing needs a connection and SQLite has one writer.
type statements struct {
	pool *sql.DB

	mu     sync.RWMutex
	byText map[string]*sql.Stmt
	seen   []string
}

func newStatements(pool *sql.DB) *statements {
	return &statements{pool: pool, byText: map[string]*sql.Stmt{}}
}

// find returns the prepared statement, nil when there is none yet.
func (s *statements) find(text string) *sql.Stmt {
	s.mu.RLock()
	found := s.byText[text]
	s.mu.RUnlock()
	if found == nil {
		s.mu.Lock()
		if len(s.byText)+len(s.seen) < maxStatements {
			s.seen = append(s.seen, text)
		}
		s.mu.Unlock()
	}
	return found
}

// prepare prepares what was asked for since the last time. A text that cannot be prepared is left to fail where it is used.
func (s *statements) prepare(ctx context.Context) {
	s.mu.RLock()
	waiting := len(s.seen) > 0
	s.mu.RUnlock()
	if !waiting {
		return
	}
	s.mu.Lock()
	seen := s.seen
	s.seen = nil
	s.mu.Unlock()
	for _, text := range seen {
		s.mu.RLock()
		known := s.byText[text] != nil
		s.mu.RUnlock()
		if known {
			continue
		}
		prepared, err := s.pool.PrepareContext(ctx, positional(text)) //nolint:sqlclosecheck // kept for the next time; it goes with its pool
		if err != nil {
			continue
		}
		s.mu.Lock()
		if s.byText[text] == nil {
			s.byText[text] = prepared
			prepared = nil
		}
		s.mu.Unlock()
		if prepared != nil {
			_ = prepared.Close() // another reader was faster
		}
	}
}

// positional writes $1, $2, ... as ? when each stands once and in order: the driver finds a numbered parameter by comparing names, which
// takes the square of their number. Any other text is returned as it is.
func positional(text string) string {
	var b strings.Builder
	next := 1
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`' || c == '?':
			return text // quoted text might hold a dollar
		case c != '$':
			b.WriteByte(c)
			i++
		default:
			end := i + 1
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			if text[i+1:end] != strconv.Itoa(next) {
				return text
			}
			next++
			b.WriteByte('?')
			i = end
		}
	}
	return b.String()
}

// reader is a pool for reading that prepares what it is asked.
type reader struct{ *statements }

// QueryContext implements Querier.
func (r reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if prepared := r.get(ctx, query); prepared != nil { //nolint:sqlclosecheck // kept for the next time; it goes with its pool
		return prepared.QueryContext(ctx, args...)
	}
	return r.pool.QueryContext(ctx, query, args...)
}

// QueryRowContext implements Querier.
func (r reader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if prepared := r.get(ctx, query); prepared != nil { //nolint:sqlclosecheck // kept for the next time; it goes with its pool
		return prepared.QueryRowContext(ctx, args...)
	}
	return r.pool.QueryRowContext(ctx, query, args...)
}

func (r reader) get(ctx context.Context, query string) *sql.Stmt {
	if prepared := r.find(query); prepared != nil {
		return prepared
	}
	r.prepare(ctx)
	return nil
}

// preparedTx is a SQLite transaction that runs prepared statements where there are some.
//
// A statement begun is finished whatever becomes of the context: to watch the context the driver starts a goroutine for every statement,
// which takes longer than the statement. The transaction itself still ends with its context.
type preparedTx struct {
	tx         *sql.Tx
	statements *statements
	bytes      *int // of what was handed over, for the checkpointer
}

// ExecContext implements Tx.
func (t preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	for _, arg := range args {
		if text, isText := arg.(string); isText {
			*t.bytes += len(text)
		}
	}
	if prepared := t.statements.find(query); prepared != nil {
		return t.tx.StmtContext(ctx, prepared).ExecContext(ctx, args...) //nolint:sqlclosecheck // the transaction closes its own
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext implements Tx.
func (t preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if prepared := t.statements.find(query); prepared != nil {
		return t.tx.StmtContext(ctx, prepared).QueryContext(ctx, args...) //nolint:sqlclosecheck // the transaction closes its own
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext implements Tx.
func (t preparedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx) // a context that ended fails the row
	}
	if prepared := t.statements.find(query); prepared != nil {
		return t.tx.StmtContext(ctx, prepared).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // the transaction closes its own
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}
