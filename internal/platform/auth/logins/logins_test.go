package logins_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/auth"
	"harness/internal/platform/auth/logins"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/audit"
	"harness/tests/dbtest"
	"harness/tests/oidctest"
	"harness/tests/polling"
)

const patience = time.Minute

// site is a server's logins, with a separate clock.
type site struct {
	*logins.Service
	t      *testing.T
	db     *database.DB
	issuer *oidctest.Issuer
	now    *atomic.Int64 // ms
}

// open starts a server on a store, which may have other servers.
func open(t *testing.T, db *database.DB, issuer *oidctest.Issuer, now *atomic.Int64) *site {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"secret": "the-secret", "oidc.json": `[
		{"name": "corp", "issuer": "` + issuer.URL + `", "clientId": "harness", "clientSecretFile": "secret"},
		{"name": "public", "issuer": "` + issuer.URL + `", "clientId": "harness"}]`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	providers, err := oidc.ReadProviders(filepath.Join(folder, "oidc.json"))
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return time.UnixMilli(now.Load()) }
	s := &site{t: t, db: db, issuer: issuer, now: now}
	events := journal.New(db, journal.Options{Logger: zerolog.Nop(), Before: audit.NewWriter().Write, PollInterval: 10 * time.Millisecond})
	s.Service = logins.New(logins.Options{Journal: events, DB: db, Logger: zerolog.Nop(), Clock: clock,
		Providers: oidc.NewSet(providers, nil, clock)})
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

func clockAt(at time.Time) *atomic.Int64 {
	now := &atomic.Int64{}
	now.Store(at.UnixMilli())
	return now
}

func (s *site) pass(d time.Duration) { s.now.Add(d.Milliseconds()) }

// who returns a person as the provider describes them at login, for an hour.
func (s *site) who(subject, refresh string) oidc.Identity {
	return oidc.Identity{Provider: "corp", Subject: subject, Session: "s-" + subject, Actor: "oidc:corp:" + subject, Name: "Ann", Role: auth.RoleOperator,
		Expires: time.UnixMilli(s.now.Load()).Add(time.Hour), Refresh: refresh}
}

func (s *site) begin(who oidc.Identity) (secret string, access context.Context) {
	s.t.Helper()
	_, secret, err := s.Begin(s.t.Context(), who)
	if err != nil {
		s.t.Fatal(err)
	}
	principal, access, found := s.Find(secret)
	if !found || principal.Actor != who.Actor || principal.Provider != who.Provider || principal.Role != who.Role || principal.Name != who.Name {
		s.t.Fatalf("a new login is %+v %t", principal, found)
	}
	return secret, access
}

func ended(t *testing.T, access context.Context) {
	t.Helper()
	select {
	case <-access.Done():
	case <-time.After(patience):
		t.Fatal("access does not end")
	}
}

// A login is valid until it is ended, by its secret or by its provider, or until it expires with its ID token. Its open
// connections end with it. The store contains neither its secret nor its refresh token.
func TestLogins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db, oidctest.NewIssuer(t), clockAt(time.Now()))
		limited := s.who("ann", "the-refresh-token")
		limited.Projects = []string{"p1"}
		first, one := s.begin(limited)
		second, other := s.begin(s.who("ann", ""))
		third, bobs := s.begin(s.who("bob", ""))
		if who, _, _ := s.Find(first); !who.Projects.Has("p1") || who.Projects.Has("p2") || !who.Named() {
			t.Errorf("the limit is %v", who.Projects.IDs())
		}
		if !strings.HasPrefix(first, auth.LoginPrefix) || len(first) != len(auth.LoginPrefix)+43 {
			t.Errorf("the secret is %q", first)
		}
		for _, wrong := range []string{"", "hrs_", first + "x", first[:len(first)-1], strings.ToUpper(first)} {
			if _, _, found := s.Find(wrong); found {
				t.Errorf("%q lets in", wrong)
			}
		}
		var kept int
		if err := db.Read().QueryRowContext(t.Context(), `select count(*) from logins where hash like $1 or refresh like $2 or (subject = 'ann' and refresh <> '')`,
			"%"+first[4:]+"%", "%refresh%").Scan(&kept); err != nil || kept != 1 { // ann's sealed refresh token
			t.Errorf("%d rows, %v", kept, err)
		}
		if err := s.End(t.Context(), second); err != nil || other.Err() == nil || one.Err() != nil {
			t.Errorf("ended: %v %v, other %v", err, other.Err(), one.Err())
		}
		if n, err := s.EndAt(t.Context(), "corp", "ann", "s-another"); n != 0 || err != nil || one.Err() != nil {
			t.Errorf("another session of the provider ended %d %v", n, err)
		}
		if n, err := s.EndAt(t.Context(), "corp", "", ""); n != 0 || err != nil || bobs.Err() != nil {
			t.Errorf("a logout without a login ended %d %v", n, err)
		}
		if n, err := s.EndAt(t.Context(), "public", "ann", ""); n != 0 || err != nil || one.Err() != nil {
			t.Errorf("another provider ended %d %v", n, err)
		}
		if n, err := s.EndAt(t.Context(), "corp", "", "s-ann"); n != 1 || err != nil || one.Err() == nil || bobs.Err() != nil {
			t.Errorf("its session ended %d %v", n, err)
		}
		if _, _, found := s.Find(first); found {
			t.Error("an ended login lets in")
		}
		s.pass(time.Hour)
		if _, _, found := s.Find(third); found {
			t.Error("it counts after its ID token")
		}
		if people, err := s.People(t.Context()); err != nil || len(people) != 2 || people[0] != (logins.Person{Actor: "oidc:corp:ann", Name: "Ann"}) {
			t.Errorf("people are %v %v", people, err)
		}
	})
}

// tokens makes the provider answer each refresh token once, with claims; nil claims mean that the login has ended
// there.
func (s *site) tokens(claims map[string]any) (asked *atomic.Int64) {
	asked = &atomic.Int64{}
	s.issuer.Tokens(func(form url.Values) (int, map[string]any) {
		asked.Add(1)
		if form.Get("grant_type") != "refresh_token" || claims == nil {
			return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
		}
		more := map[string]any{"iat": s.now.Load() / 1000, "exp": s.now.Load()/1000 + 600}
		for name, value := range claims {
			more[name] = value
		}
		return http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "refresh_token": form.Get("refresh_token") + "+",
			"id_token": s.issuer.Sign(s.issuer.Claims("harness", more))}
	})
	return asked
}

// A login with a refresh token is confirmed every five minutes, by one server of the store; its role and name are the
// current ones. It ends if the provider ends it, an hour after the provider's last answer, and in any case after twelve
// hours.
func TestLoginsAreConfirmed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		issuer, now := oidctest.NewIssuer(t), clockAt(time.Now())
		s := open(t, db, issuer, now)
		other := s
		if db.Engine() == database.Postgres { // only Postgres has several servers
			other = open(t, db, issuer, now)
		}
		secret, access := s.begin(s.who("ann", "r"))
		confirm := func(each ...*site) {
			t.Helper()
			for _, one := range each {
				if err := one.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		asked := s.tokens(map[string]any{"sub": "ann", "role": "operator", "name": "Ann Lee"})
		confirm(s)
		if asked.Load() != 0 {
			t.Error("it is confirmed at once again")
		}
		s.pass(5 * time.Minute)
		confirm(s, other)
		if who, _, found := s.Find(secret); asked.Load() != 1 || !found || who.Name != "Ann Lee" || access.Err() != nil {
			t.Errorf("asked %d times, then %+v %t", asked.Load(), who, found)
		}
		s.pass(59 * time.Minute) // after the first ID token has expired
		confirm(other)
		if _, _, found := s.Find(secret); !found {
			t.Error("it ends though it was confirmed")
		}
		s.tokens(map[string]any{"sub": "ann", "role": "viewer"})
		s.pass(5 * time.Minute)
		confirm(s)
		ended(t, access)
		who, access, found := s.Find(secret)
		if !found || who.Role != auth.RoleMember {
			t.Errorf("with another role it is %+v %t", who, found)
		}
		if !polling.Until(patience, func() bool {
			there, _, found := other.Find(secret)
			return found && there.Role == auth.RoleMember
		}) {
			t.Error("the other server does not learn of the role")
		}
		s.tokens(map[string]any{"sub": "bob", "role": "admin"})
		s.pass(5 * time.Minute)
		confirm(s)
		if _, _, found := s.Find(secret); found || access.Err() == nil {
			t.Error("it counts though the provider speaks of another person")
		}
		secret, access = s.begin(s.who("ann", "r"))
		s.tokens(nil)
		s.pass(5 * time.Minute)
		confirm(s)
		if _, _, found := s.Find(secret); found || access.Err() == nil {
			t.Error("it counts though it has ended at its provider")
		}
		secret, _ = s.begin(s.who("ann", "r"))
		issuer.Down.Store(true)
		s.pass(50 * time.Minute)
		if err := s.Refresh(t.Context()); err == nil {
			t.Error("a provider that is down confirms")
		}
		if _, _, found := s.Find(secret); !found {
			t.Error("a provider that is down ends logins at once")
		}
		s.pass(10 * time.Minute)
		if _, _, found := s.Find(secret); found {
			t.Error("it counts an hour after the last word of the provider")
		}
	})
}

// No login is valid for more than twelve hours, and a public client's refresh token is not stored.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	s := open(t, dbtest.Open(t, database.SQLite), oidctest.NewIssuer(t), clockAt(time.Now()))
	long := s.who("ann", "")
	long.Expires = long.Expires.Add(100 * time.Hour)
	secret, access := s.begin(long)
	public := s.who("ann", "r")
	public.Provider = "public"
	s.begin(public)
	asked := s.tokens(map[string]any{"sub": "ann", "role": "operator"})
	s.pass(12 * time.Hour)
	if err := s.Refresh(t.Context()); err != nil || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
	if _, _, found := s.Find(secret); found {
		t.Error("it counts after twelve hours")
	}
	ended(t, access)
}
