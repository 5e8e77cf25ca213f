// Package tokens keeps the named access tokens of people and machines.
//
// It owns their rows, that a secret is known to its holder alone (the store has its hash), and that what was revoked,
// has expired or changed its role stops counting at once, on every server of the store. It must never know what a role
// may do, nor how a token comes with a request.
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

// Role is what the holder of a token may do.
type Role string

// The roles.
const (
	// Viewer reads, CI writes transcripts and does nothing else, Operator works with sessions, Admin does everything.
	Viewer   Role = "viewer"
	CI       Role = "ci"
	Operator Role = "operator"
	Admin    Role = "admin"
)

// principal is that of the holder; false for an unknown role.
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

// Token is what is known of a token. Times are in ms.
type Token struct {
	ID, Name, CreatedBy string
	Role                Role
	CreatedAt           int64
	// Projects are the ids of those it is limited to, nil for no limit.
	Projects []string
	// ExpiresAt is 0 for never, RevokedAt 0 until it is revoked.
	ExpiresAt, RevokedAt int64
}

// counts reports whether the token lets anybody in at a time.
func (t Token) counts(at int64) bool {
	return t.RevokedAt == 0 && (t.ExpiresAt == 0 || at < t.ExpiresAt)
}

var (
	// ErrNotFound says that there is no token of that id.
	ErrNotFound = errors.New("token not found")
	// ErrRevoked says that a token that was revoked cannot be changed.
	ErrRevoked = errors.New("the token was revoked, which cannot be taken back: create another one")
)

// NameTakenError says that a token that was not revoked has the name.
type NameTakenError struct{ Name string }

// Error implements error.
func (e *NameTakenError) Error() string {
	return fmt.Sprintf("there is a token %s already: revoke it first, or choose another name", e.Name)
}

// InvalidError refuses what a token is to be made of.
type InvalidError struct{ Field, Message string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Message }

// names are such that they can stand in logs, headers and commands.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// check refuses what no token can be made of; at is now, in ms.
func (t Token) check(at int64) error {
	if !names().MatchString(t.Name) {
		return &InvalidError{"name", "Use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first"}
	}
	if err := t.Role.check(); err != nil {
		return err
	}
	if t.ExpiresAt != 0 && t.ExpiresAt <= at {
		return &InvalidError{"expiresAt", "Use a time to come"}
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

// limitedRole follows the stored role of a token that is limited to projects: a server that knows nothing of such limits
// does not know the role either.
const limitedRole = "@projects"

// stored are role and projects as they are kept.
func (t Token) stored() (role, projects string, err error) {
	if t.Projects == nil {
		return string(t.Role), "", nil
	}
	list, err := json.Marshal(t.Projects)
	return string(t.Role) + limitedRole, string(list), err
}

// restore takes them back. A limit that cannot be read leaves nothing.
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

// limit is that of the holder, nil for none.
func (t Token) limit() *auth.Projects {
	if t.Projects == nil {
		return nil
	}
	return auth.LimitTo(t.Projects...)
}

// secretBytes are the random bytes of a secret.
const secretBytes = 32

// newSecret makes what the holder shows.
func newSecret() string {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // it never fails
	return auth.TokenPrefix + base64.RawURLEncoding.EncodeToString(random)
}

// hashOf is what is kept of a secret. It is random enough to need no salt and no slow hash.
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
