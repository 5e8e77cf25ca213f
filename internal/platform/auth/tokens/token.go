// Package tokens stores the named access tokens of people and machines.
//
// It owns their rows and two guarantees. Only the holder has the secret; the store has its hash. A revoked, expired or
// changed token becomes invalid at once on every server of the store. It must never know the rights of a role, or how a
// request carries a token.
package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"harness/internal/platform/auth"
	"harness/internal/platform/database"
)

// Role is the set of rights of a token's holder.
type Role string

// The roles.
const (
	// Viewer reads, CI only writes transcripts, Operator works with sessions, Admin may do everything.
	Viewer   Role = "viewer"
	CI       Role = "ci"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// principal returns the holder's principal; false for an unknown role.
func (r Role) principal() (auth.Role, bool) {
	switch r {
	case Viewer:
		return auth.RoleMember, true
	case CI:
		return auth.RoleCI, true
	case Operator:
		return auth.RoleOperator, true
	case Admin:
		return auth.RoleAdmin, true
	}
	return "", false
}

func (r Role) check() error {
	if _, known := r.principal(); !known {
		return &InvalidError{"role", "Use viewer, ci, operator or admin"}
	}
	return nil
}

// Token is a token without its secret. Times are in ms.
type Token struct {
	ID, Name, CreatedBy string
	Role                Role
	CreatedAt           int64
	// Projects are the ids of the projects to which the token is limited, nil for no limit.
	Projects []string
	// ExpiresAt is 0 for never, RevokedAt is 0 unless the token is revoked.
	ExpiresAt, RevokedAt int64
}

// counts reports whether the token is valid at a time.
func (t Token) counts(at int64) bool {
	return t.RevokedAt == 0 && (t.ExpiresAt == 0 || at < t.ExpiresAt)
}

var (
	// ErrNotFound means that no token has that id.
	ErrNotFound = errors.New("token not found")
	// ErrRevoked means that a revoked token cannot be changed.
	ErrRevoked = errors.New("the token was revoked, which is final: create another one")
)

// NameTakenError means that an unrevoked token already has the name.
type NameTakenError struct{ Name string }

// Error implements error.
func (e *NameTakenError) Error() string {
	return fmt.Sprintf("a token %s exists already: revoke it first, or choose another name", e.Name)
}

// InvalidError refuses invalid input for a token.
type InvalidError struct{ Field, Message string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Message }

// names are safe in logs, headers and commands.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// check refuses invalid input for a token; at is now, in ms.
func (t Token) check(at int64) error {
	if !names().MatchString(t.Name) {
		return &InvalidError{"name", "Use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first"}
	}
	if err := t.Role.check(); err != nil {
		return err
	}
	if t.ExpiresAt != 0 && t.ExpiresAt <= at {
		return &InvalidError{"expiresAt", "Use a time in the future"}
	}
	if len(t.Projects) > maxProjects {
		return &InvalidError{"projects", fmt.Sprintf("Use at most %d", maxProjects)}
	}
	if t.Projects != nil && len(t.Projects) == 0 || slices.Contains(t.Projects, "") {
		return &InvalidError{"projects", "Use ids of projects, or leave it out for no limit"}
	}
	return nil
}

// maxProjects bounds the projects of a token.
const maxProjects = 100

// limitedRole is a suffix of the stored role of a token that is limited to projects. An older server without such
// limits does not accept the role.
const limitedRole = "@projects"

// stored returns role and projects in their stored form.
func (t Token) stored() (role, projects string, err error) {
	if t.Projects == nil {
		return string(t.Role), "", nil
	}
	list, err := json.Marshal(t.Projects)
	return string(t.Role) + limitedRole, string(list), err
}

// restore parses the stored role and projects. An invalid limit allows no project.
func (t *Token) restore(role, projects string) {
	plain, limited := strings.CutSuffix(role, limitedRole)
	t.Role = Role(plain)
	if !limited && projects == "" {
		return
	}
	if json.Unmarshal([]byte(projects), &t.Projects) != nil || t.Projects == nil {
		t.Projects = []string{}
	}
}

// limit returns the holder's limit, nil for none.
func (t Token) limit() *auth.Projects {
	if t.Projects == nil {
		return nil
	}
	return auth.LimitTo(t.Projects...)
}

// secretBytes is the number of random bytes in a secret.
const secretBytes = 32

// newSecret makes the holder's secret.
func newSecret() string {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // it never fails
	return auth.TokenPrefix + base64.RawURLEncoding.EncodeToString(random)
}

// hashOf returns the stored hash of a secret, which is random enough to need no salt and no slow hash.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// row is a token with the hash of its secret.
type row struct {
	Token
	hash string
}

const columns = `id, name, role, hash, created_at, created_by, expires_at, revoked_at, projects`

func scan(from database.Row) (r row, err error) {
	var role, projects string
	err = from.Scan(&r.ID, &r.Name, &role, &r.hash, &r.CreatedAt, &r.CreatedBy, &r.ExpiresAt, &r.RevokedAt, &projects)
	r.restore(role, projects)
	r.CreatedBy = database.DecodeText(r.CreatedBy)
	return r, err
}
