package database

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
)

// maxStatements bounds a pool's prepared statements. Query texts are constants except for the number of rows, so the
// bound is a safety net.
const maxStatements = 512

// statements caches prepared statements by their text: SQLite takes longer to parse most of ours than to run them. pgx
// does this itself. A text is prepared after its first use, concurrently with that query.
type statements struct {
	pool *sql.DB
	log  *logSync // nil when readable data is always synced

	mu     sync.RWMutex
	byText map[string]*sql.Stmt
	seen   []string
}

func newStatements(pool *sql.DB, log *logSync) *statements {
	return &statements{pool: pool, log: log, byText: map[string]*sql.Stmt{}}
}

// awaitDurable returns once all data that a reader may have seen survives loss of power.
func (s *statements) awaitDurable(ctx context.Context) error {
	if s.log == nil {
		return nil
	}
	return s.log.visible(ctx)
}

// find returns the prepared statement, nil if there is none yet.
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

// prepare prepares the texts requested since the last call. A text that cannot be prepared fails where it is used.
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

// positional replaces $1, $2, ... by ? if each occurs once and in order. The driver finds a numbered parameter by
// comparing names, which takes quadratic time. Any other text is returned unchanged.
func positional(text string) string {
	var b strings.Builder
	next := 1
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return text
			}
			b.WriteString(text[i : i+end+2])
			i += end + 2
		case c == '"' || c == '`' || c == '?':
			return text // a quoted name might contain a dollar
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

// reader is a pool for reading that prepares the queries it runs.
type reader struct{ *statements }

// QueryContext implements Querier.
func (r reader) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	if prepared := r.get(ctx, query); prepared != nil { //nolint:sqlclosecheck // kept for the next time; it goes with its pool
		rows, err = prepared.QueryContext(ctx, args...)
	} else {
		rows, err = r.pool.QueryContext(ctx, query, args...)
	}
	if err != nil {
		return nil, err
	}
	if err := r.awaitDurable(ctx); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return rows, nil
}

// QueryRowContext implements Querier.
func (r reader) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	if prepared := r.get(ctx, query); prepared != nil { //nolint:sqlclosecheck // kept for the next time; it goes with its pool
		row = prepared.QueryRowContext(ctx, args...)
	} else {
		row = r.pool.QueryRowContext(ctx, query, args...)
	}
	_ = r.awaitDurable(ctx) // if the context ends first, the row ends with it, or its caller has left
	return row
}

func (r reader) get(ctx context.Context, query string) *sql.Stmt {
	if prepared := r.find(query); prepared != nil {
		return prepared
	}
	r.prepare(ctx)
	return nil
}
