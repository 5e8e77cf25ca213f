package tokens

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/auth"
	"harness/database"
	"harness/internal/lifecycle"
	"harness/journal"
)

// Options are what a Service stands on. Journal and DB are required.
type Options struct {
	Journal *journal.Journal
	DB      *database.DB
	Logger  zerolog.Logger
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Service keeps tokens, and knows those that count without asking the store. Start it before it is asked.
type Service struct {
	opts  Options
	loops lifecycle.Loops
	news  chan struct{} // tokens were changed, here or elsewhere

	reading sync.Mutex // held from reading the store until what was read is known: what is older never comes last
	mu      sync.RWMutex
	known   map[string]*entry // those that count, by the hash of their secret
	any     bool              // there is or was a token
}

// entry is a token that counts, and the life of what its holder has open.
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
	return &Service{opts: options, news: make(chan struct{}, 1), known: map[string]*entry{}}
}

func (s *Service) now() int64 { return s.opts.Clock().UnixMilli() }

// Start reads the tokens, and follows what other servers of the store do with them.
func (s *Service) Start(ctx context.Context) error {
	return s.loops.Start(ctx, func(running context.Context) error {
		_, unsubscribe := s.opts.Journal.Subscribe(s.hear)
		if err := s.refresh(running); err != nil {
			unsubscribe()
			return err
		}
		s.loops.Go(func(running context.Context) {
			defer unsubscribe()
			s.follow(running)
		})
		return nil
	})
}

// Stop follows no more. What is known stays so.
func (s *Service) Stop(ctx context.Context) error {
	_, err := s.loops.Stop(ctx, "the access tokens")
	return err
}

// hear is the journal's news, of all servers. It never blocks.
func (s *Service) hear(records []journal.Record) {
	for i := range records {
		if strings.HasPrefix(records[i].Type, eventPrefix) {
			select {
			case s.news <- struct{}{}:
			default: // it is told already
			}
			return
		}
	}
}

// The pace of following: how soon a store that could not be read is asked again, and how long nothing may expire.
const (
	again   = time.Second
	longest = time.Hour
)

// follow ends what expires, and reads anew after changes.
func (s *Service) follow(ctx context.Context) {
	for stale := false; ; {
		wait := s.expire()
		if stale {
			wait = min(wait, again)
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.news:
			stale = true
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		if !stale {
			continue
		}
		err := s.refresh(ctx)
		if stale = err != nil; stale && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Dur("again_in", again).Msg("cannot read the access tokens that were changed")
		}
	}
}

// expire ends what has expired, and tells when the next does.
func (s *Service) expire() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := s.now(), longest
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

// refresh makes known what the store has.
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

// apply makes known how one token stands. Who came in by another role has to come again.
func (s *Service) apply(r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.any = true
	role, known := r.Role.principal() // none of a later release's counts
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

// Holder is who comes in by the token with an id, false when it does not count (any more).
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
