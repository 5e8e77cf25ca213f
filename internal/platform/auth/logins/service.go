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

// Options are what a Service stands on. Journal, DB and Providers are required.
type Options struct {
	Journal   *journal.Journal
	DB        *database.DB
	Providers *oidc.Set
	Logger    zerolog.Logger
	// Clock is time.Now when nil.
	Clock func() time.Time
}

// Service keeps logins, and knows those that count without asking the store. Start it before it is asked.
type Service struct {
	opts  Options
	loops lifecycle.Loops

	reading sync.Mutex // held from reading the store until what was read is known: what is older never comes last
	mu      sync.RWMutex
	known   map[string]*entry // those that count, by the hash of their secret
}

// entry is a login that counts, and the life of what its holder has open.
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

// Start reads the logins, follows what other servers of the store do with them, and asks the providers whether they count.
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

// Stop follows no more. What is known stays so.
func (s *Service) Stop(ctx context.Context) error {
	_, err := s.loops.Stop(ctx, "the logins")
	return err
}

// expire ends what has expired, and returns when the next one does.
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

// reread makes known what the store has.
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

// apply makes known how one login stands. Who came in by another role has to come again.
func (s *Service) apply(r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	role, known := auth.ParseRole(string(r.Role)) // none of a later release's counts
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

// Holder is who comes in by the login with an id, false when it does not count (any more).
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

// Any implements auth.Named: where people can log in, other machines have to.
func (s *Service) Any() bool { return true }

// Person is who logged in once: what journal and audit log call the person, and what people do.
type Person struct {
	Actor string `json:"actor"`
	Name  string `json:"name"`
}

// People are those whose logins are kept, by actor, with the name of the newest.
func (s *Service) People(ctx context.Context) ([]Person, error) {
	return database.ReadAll(ctx, s.opts.DB.Read(), "read who logged in", func(from database.Row) (p Person, err error) {
		err = from.Scan(&p.Actor, &p.Name)
		p.Actor, p.Name = database.DecodeText(p.Actor), database.DecodeText(p.Name)
		return p, err
	}, `select actor, name from logins as l where not exists (select 1 from logins as later where later.actor = l.actor and later.id > l.id)
		order by actor`)
}
