package logins

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/lifecycle"
	"harness/internal/platform/auth"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Options configure a Service. Journal, DB and Providers are required.
type Options struct {
	Journal   *journal.Journal
	DB        *database.DB
	Providers *oidc.Set
	Logger    zerolog.Logger
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Service stores logins, and checks them without reading the store. Start it before use.
type Service struct {
	opts  Options
	loops lifecycle.Loops

	reading sync.Mutex // held from a read of the store until the result is applied, so that older results are never applied last
	mu      sync.RWMutex
	known   map[string]*entry // the valid logins, by the hash of their secret
}

// entry is a valid login and the context of its connections.
type entry struct {
	row
	access context.Context //nolint:containedctx // it spans the login's life, not a call's
	end    context.CancelFunc
}

// New makes a Service.
func New(options Options) *Service {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &Service{opts: options, known: map[string]*entry{}}
}

func (s *Service) now() int64 { return s.opts.Clock().UnixMilli() }

// Start reads the logins, and follows changes by other servers of the store. It regularly asks the providers whether
// the logins are valid.
func (s *Service) Start(ctx context.Context) error {
	following := journal.Following{What: "logins", EventPrefix: eventPrefix, Expire: s.expire, Reread: s.reread, Logger: s.opts.Logger}
	return s.loops.Start(ctx, func(running context.Context) error {
		if err := following.Follow(running, s.opts.Journal, s.loops.Go); err != nil {
			return err
		}
		s.loops.Go(s.refreshAll)
		return nil
	})
}

// Stop stops following changes. The known logins remain.
func (s *Service) Stop(ctx context.Context) error {
	_, err := s.loops.Stop(ctx, "the logins")
	return err
}

// expire ends expired logins, and returns when the next one expires.
func (s *Service) expire() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := s.now(), journal.LongestFollow
	for hash, e := range s.known {
		if !e.counts(now) {
			e.end()
			delete(s.known, hash)
			continue
		}
		next = min(next, time.Duration(e.ExpiresAt-now)*time.Millisecond)
	}
	return next
}

// reread applies the store's logins.
func (s *Service) reread(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	rows, err := database.ReadAll(ctx, s.opts.DB.Read(), "read the logins", scan,
		`select `+columns+` from logins where ended_at = 0 and expires_at > $1`, s.now())
	if err != nil {
		return err
	}
	counting := map[string]bool{}
	for _, r := range rows {
		counting[r.hash] = true
		s.apply(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, e := range s.known {
		if !counting[hash] {
			e.end()
			delete(s.known, hash)
		}
	}
	return nil
}

// apply applies the state of one login. A changed role closes the login's connections.
func (s *Service) apply(r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	role, known := auth.ParseRole(string(r.Role)) // rows of a later release are invalid
	counts := known && role == r.Role && r.counts(s.now()) && slices.Contains(s.opts.Providers.Logins(), r.Provider)
	if e := s.known[r.hash]; e != nil {
		if counts && e.Role == r.Role {
			e.row = r
			return
		}
		e.end()
		delete(s.known, r.hash)
	}
	if counts {
		access, end := context.WithCancel(context.Background())
		s.known[r.hash] = &entry{row: r, access: access, end: end}
	}
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
	return e.principal(), e.access, true
}

// Holder returns the principal of the login with an id; false if the login is invalid.
func (s *Service) Holder(id string) (auth.Principal, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.known {
		if e.ID == id {
			return e.principal(), e.counts(s.now())
		}
	}
	return auth.Principal{}, false
}

// Any implements auth.Named: where people can log in, other machines must authenticate.
func (s *Service) Any() bool { return true }

// Person is a person who has logged in at least once: their actor in journal and audit log, and their name.
type Person struct {
	Actor string `json:"actor"`
	Name  string `json:"name"`
}

// People returns the people with stored logins, by actor, each with the name of the newest login.
func (s *Service) People(ctx context.Context) ([]Person, error) {
	return database.ReadAll(ctx, s.opts.DB.Read(), "read who logged in", func(from database.Row) (p Person, err error) {
		err = from.Scan(&p.Actor, &p.Name)
		p.Actor, p.Name = database.DecodeText(p.Actor), database.DecodeText(p.Name)
		return p, err
	}, `select actor, name from logins as l where not exists (select 1 from logins as later where later.actor = l.actor and later.id > l.id)
		order by actor`)
}
