package tokens

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/lifecycle"
	"harness/internal/platform/auth"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Options configure a Service. Journal and DB are required.
type Options struct {
	Journal *journal.Journal
	DB      *database.DB
	Logger  zerolog.Logger
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Service stores tokens, and checks them without reading the store. Start it before use.
type Service struct {
	opts  Options
	loops lifecycle.Loops

	reading sync.Mutex // held from a read of the store until the result is applied, so that older results are never applied last
	mu      sync.RWMutex
	known   map[string]*entry // the valid tokens, by the hash of their secret
	any     bool              // a token exists or existed
}

// entry is a valid token and the context of its connections.
type entry struct {
	row
	principal auth.Principal
	access    context.Context //nolint:containedctx // it spans the token's life, not a call's
	end       context.CancelFunc
}

// New makes a Service.
func New(options Options) *Service {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Service{opts: options, known: map[string]*entry{}}
}

func (s *Service) now() int64 { return s.opts.Clock().UnixMilli() }

// Start reads the tokens, and follows changes by other servers of the store.
func (s *Service) Start(ctx context.Context) error {
	following := journal.Following{What: "access tokens", EventPrefix: eventPrefix, Expire: s.expire, Reread: s.refresh, Logger: s.opts.Logger}
	return s.loops.Start(ctx, func(running context.Context) error {
		return following.Follow(running, s.opts.Journal, s.loops.Go)
	})
}

// Stop stops following changes. The known tokens remain.
func (s *Service) Stop(ctx context.Context) error {
	_, err := s.loops.Stop(ctx, "the access tokens")
	return err
}

// expire ends expired tokens, and returns when the next one expires.
func (s *Service) expire() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := s.now(), journal.LongestFollow
	for hash, e := range s.known {
		switch {
		case !e.counts(now):
			e.end()
			delete(s.known, hash)
		case e.ExpiresAt != 0:
			next = min(next, time.Duration(e.ExpiresAt-now)*time.Millisecond)
		}
	}
	return next
}

// refresh applies the store's tokens.
func (s *Service) refresh(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	rows, err := s.read(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s.apply(r)
	}
	return nil
}

func (s *Service) read(ctx context.Context) ([]row, error) {
	return database.ReadAll(ctx, s.opts.DB.Read(), "read the access tokens", scan,
		`select `+columns+` from access_tokens order by created_at, id`)
}

// apply applies the state of one token. A changed role closes the token's connections.
func (s *Service) apply(r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.any = true
	role, known := r.Role.principal() // rows of a later release are invalid
	counts := known && r.counts(s.now())
	if e := s.known[r.hash]; e != nil {
		if counts && e.Role == r.Role {
			e.row = r
			return
		}
		e.end()
		delete(s.known, r.hash)
	}
	if !counts {
		return
	}
	access, end := context.WithCancel(context.Background())
	s.known[r.hash] = &entry{row: r, access: access, end: end,
		principal: auth.Principal{Actor: "token:" + r.Name, Role: role, TokenID: r.ID, Projects: r.limit()}}
}

// Find implements auth.Named.
func (s *Service) Find(secret string) (auth.Principal, context.Context, bool) {
	hash := hashOf(secret)
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.known[hash]
	if e == nil || !e.counts(s.now()) {
		return auth.Principal{}, nil, false
	}
	return e.principal, e.access, true
}

// Holder returns the principal of the token with an id; false if the token is invalid.
func (s *Service) Holder(id string) (auth.Principal, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.known {
		if e.ID == id {
			return e.principal, e.counts(s.now())
		}
	}
	return auth.Principal{}, false
}

// Any implements auth.Named.
func (s *Service) Any() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.any
}
