package dbtest

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"harness/tests/outside"
)

// Role is a separate Postgres user with a separate schema, for tests of a server that refuses requests. Other tests
// are not affected.
type Role struct {
	t    testing.TB
	name string
	// URL is for the program under test, which has full access to its schema.
	URL   string
	admin *sql.DB
}

// NewRole creates a role and its schema, and removes both at the end of the test.
func NewRole(t testing.TB) *Role {
	t.Helper()
	outside.Needs(t, "Postgres")
	base := newSchema(t)
	parsed, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	schema := parsed.Query().Get("search_path")
	admin, err := sql.Open("pgx", base)
	if err != nil {
		t.Fatal(err)
	}
	r := &Role{t: t, name: "r_" + strings.ReplaceAll(uuid.Must(uuid.NewV7()).String(), "-", ""), admin: admin}
	r.Do(`create role ` + r.name + ` login password 'role-of-a-test'`)
	r.Do(`alter schema "` + schema + `" owner to ` + r.name)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for _, statement := range []string{`drop owned by ` + r.name + ` cascade`, `create schema "` + schema + `"`,
			`drop role ` + r.name} {
			if _, err := admin.ExecContext(ctx, statement); err != nil {
				t.Errorf("remove the role of a test: %v", err)
			}
		}
		if err := admin.Close(); err != nil {
			t.Errorf("close the test connection: %v", err)
		}
	})
	query := parsed.Query()
	query.Del("user")
	query.Set("user", r.name)
	query.Set("password", "role-of-a-test")
	parsed.User, parsed.RawQuery = nil, query.Encode()
	r.URL = parsed.String()
	return r
}

// Do runs a statement as an administrator whose search path is the role's schema.
func (r *Role) Do(statement string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := r.admin.ExecContext(ctx, statement); err != nil {
		r.t.Fatalf("%s: %v", statement, err)
	}
}

// Set changes the role, as in "set lock_timeout = 100" or "connection limit 0". The change applies to connections
// opened from now on.
func (r *Role) Set(change string) {
	r.t.Helper()
	r.Do(`alter role ` + r.name + ` ` + change)
}

// Disconnect ends the role's connections.
func (r *Role) Disconnect() {
	r.t.Helper()
	r.Do(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '` + r.name + `'`)
}

// Lock runs a statement as an administrator and holds its locks until the test calls the returned function.
func (r *Role) Lock(statement string) (unlock func()) {
	r.t.Helper()
	tx, err := r.admin.BeginTx(r.t.Context(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := tx.ExecContext(r.t.Context(), statement); err != nil {
		r.t.Fatalf("%s: %v", statement, err)
	}
	return func() {
		r.t.Helper()
		if err := tx.Rollback(); err != nil {
			r.t.Fatalf("let go of a lock: %v", err)
		}
	}
}
