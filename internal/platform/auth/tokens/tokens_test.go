package tokens_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/auth"
	"harness/internal/platform/auth/tokens"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/audit"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

const patience = time.Minute

// site is a server's tokens.
type site struct {
	*tokens.Service
	t   *testing.T
	db  *database.DB
	now atomic.Int64 // ms, by the server's clock
}

// open starts a server on a store, which may have other servers.
func open(t *testing.T, db *database.DB) *site {
	t.Helper()
	s := &site{t: t, db: db}
	s.now.Store(1_000_000)
	events := journal.New(db, journal.Options{Logger: zerolog.Nop(), Before: audit.NewWriter().Write,
		PollInterval: 10 * time.Millisecond})
	s.Service = tokens.New(tokens.Options{Journal: events, DB: db, Logger: zerolog.Nop(),
		Clock: func() time.Time { return time.UnixMilli(s.now.Load()) }})
	for _, part := range []interface {
		Start(ctx context.Context) error
		Stop(ctx context.Context) error
	}{events, s.Service} {
		if err := part.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := part.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return s
}

func (s *site) create(name string, role tokens.Role, expires int64) (tokens.Token, string) {
	s.t.Helper()
	made, secret, err := s.Create(s.t.Context(),
		tokens.Token{Name: name, Role: role, ExpiresAt: expires, CreatedBy: "ann"})
	if err != nil {
		s.t.Fatal(err)
	}
	return made, secret
}

func ended(t *testing.T, access context.Context) {
	t.Helper()
	select {
	case <-access.Done():
	case <-time.After(patience):
		t.Fatal("access does not end")
	}
}

// A token is valid until it is revoked, expires or gets another role. Each of these ends its open connections at once.
func TestTokens(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		if s.Any() {
			t.Error("there is a token before one was made")
		}
		made, secret := s.create("ci-1", tokens.CI, 0)
		principal, access, found := s.Find(secret)
		if want := (auth.Principal{Actor: "token:ci-1", Role: auth.RoleCI, TokenID: made.ID}); !found || principal != want {
			t.Fatalf("%+v, %t; want %+v", principal, found, want)
		}
		if len(secret) != len("hrn_")+43 || !strings.HasPrefix(secret, "hrn_") || !s.Any() {
			t.Errorf("the secret is %q", secret)
		}
		for _, wrong := range []string{"", "hrn_", secret + "x", secret[:len(secret)-1], strings.ToUpper(secret), made.ID} {
			if _, _, found := s.Find(wrong); found {
				t.Errorf("%q lets in", wrong)
			}
		}
		// The same role changes nothing; another role closes open connections.
		if _, err := s.ChangeRole(t.Context(), made.ID, tokens.CI); err != nil || access.Err() != nil {
			t.Errorf("%v, access %v", err, access.Err())
		}
		if _, err := s.ChangeRole(t.Context(), made.ID, tokens.Viewer); err != nil || access.Err() == nil {
			t.Errorf("%v, access %v", err, access.Err())
		}
		principal, access, found = s.Find(secret)
		if !found || principal.Role != auth.RoleMember || access.Err() != nil {
			t.Errorf("%+v %t", principal, found)
		}
		for range 2 { // repeating it changes nothing
			revoked, err := s.Revoke(t.Context(), made.ID)
			if err != nil || revoked.RevokedAt != s.now.Load() || access.Err() == nil {
				t.Errorf("%+v %v", revoked, err)
			}
		}
		if _, _, found := s.Find(secret); found || !s.Any() {
			t.Error("a revoked token lets in, or all doors are open again")
		}
		if _, err := s.ChangeRole(t.Context(), made.ID, tokens.Admin); !errors.Is(err, tokens.ErrRevoked) {
			t.Errorf("a revoked token is changed: %v", err)
		}
		for _, err := range []error{errOf(s.Revoke(t.Context(), "none")),
			errOf(s.ChangeRole(t.Context(), "a\x00b", tokens.CI))} {
			if !errors.Is(err, tokens.ErrNotFound) {
				t.Errorf("unknown: %v", err)
			}
		}
		again, _ := s.create("ci-1", tokens.Operator, 0) // the name is free
		if _, _, err := s.Create(t.Context(), tokens.Token{Name: "ci-1", Role: tokens.CI}); !errors.As(err,
			new(*tokens.NameTakenError)) {
			t.Errorf("a second one of the name: %v", err)
		}
		for _, bad := range []tokens.Token{{Role: tokens.CI}, {Name: "a b", Role: tokens.CI}, {Name: "-a", Role: tokens.CI},
			{Name: strings.Repeat("a", 65), Role: tokens.CI}, {Name: "a"}, {Name: "a", Role: "owner"},
			{Name: "a", Role: tokens.CI, ExpiresAt: s.now.Load()}} {
			if _, _, err := s.Create(t.Context(), bad); !errors.As(err, new(*tokens.InvalidError)) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		all, err := s.List(t.Context())
		if err != nil || len(all) != 2 || all[0].ID != made.ID || !reflect.DeepEqual(all[1], again) || again.CreatedBy != "ann" {
			t.Errorf("%+v %v", all, err)
		}
		s.audited("access_token.created", "access_token.changed", "access_token.revoked", "access_token.created")
		s.keeps(secret)
	})
}

func errOf(_ tokens.Token, err error) error { return err }

// audited compares the kinds in the audit log with the wanted ones, and checks that no entry contains a secret.
func (s *site) audited(want ...string) {
	s.t.Helper()
	var kinds []string
	err := audit.Each(s.t.Context(), s.db.Read(), "", func(row audit.Row) error {
		kinds = append(kinds, row.Kind)
		if strings.Contains(string(row.Detail), "hrn_") || !strings.Contains(string(row.Detail), `"name":"ci-1"`) {
			s.t.Errorf("%s: %s", row.Kind, row.Detail)
		}
		return nil
	})
	if err != nil || strings.Join(kinds, " ") != strings.Join(want, " ") {
		s.t.Errorf("audited are %v (%v), want %v", kinds, err, want)
	}
}

// keeps checks that the row of a token contains only its hash.
func (s *site) keeps(secret string) {
	s.t.Helper()
	var n int
	err := s.db.Read().QueryRowContext(s.t.Context(),
		`select count(*) from access_tokens where hash like $1 or name like $1 or id like $1`, "%"+secret[4:]+"%").Scan(&n)
	if err != nil || n != 0 {
		s.t.Errorf("%d rows have the secret, %v", n, err)
	}
}

// An expired token is invalid from that time on, and its open connections end by themselves.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.Open(t, database.SQLite))
	_, forever := s.create("forever", tokens.Viewer, 0)
	_, secret := s.create("short", tokens.Viewer, s.now.Load()+20)
	_, access, found := s.Find(secret)
	if !found {
		t.Fatal("a new token does not count")
	}
	s.now.Add(20)
	if _, _, found := s.Find(secret); found {
		t.Error("it counts after its time")
	}
	ended(t, access)
	if _, access, found := s.Find(forever); !found || access.Err() != nil {
		t.Error("another one ended with it")
	}
}

// A change of tokens on one server applies to the others of the store, and after a restart.
func TestServersAgreeOnTokens(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	a, b := open(t, db), open(t, db)
	made, secret := a.create("shared", tokens.Operator, 0)
	var access context.Context
	if !polling.Until(patience, func() (found bool) {
		_, access, found = b.Find(secret)
		return found
	}) {
		t.Fatal("the other server never learns of it")
	}
	if _, err := a.ChangeRole(t.Context(), made.ID, tokens.Viewer); err != nil {
		t.Fatal(err)
	}
	ended(t, access)
	later := open(t, db)
	principal, _, found := later.Find(secret)
	if !found || principal.Role != auth.RoleMember {
		t.Errorf("a later server finds %+v, %t", principal, found)
	}
}
