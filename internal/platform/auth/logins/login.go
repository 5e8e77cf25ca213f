// Package logins stores the logins of people at OpenID Connect providers.
//
// It owns their rows and two guarantees. Only the holder has the secret; the store has its hash. A login that ended
// here or at its provider, or that expired, becomes invalid at once on every server of the store. It must never know
// the rights of a role, or how a request carries a secret.
package logins

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/auth"
	"harness/internal/platform/database"
)

// How long a login is valid.
const (
	longestLogin = 12 * time.Hour
	// refreshEvery is how often the server asks the provider whether a login is still valid. unconfirmed is how long
	// the login stays valid while the provider does not answer.
	refreshEvery = 5 * time.Minute
	unconfirmed  = time.Hour
	// kept is how long rows of ended logins are kept. A person's newest row is always kept, because it has the actor's
	// name.
	kept = 30 * 24 * time.Hour
)

// Login is a login without its secret. Times are in ms.
type Login struct {
	ID, Provider, Subject, Actor, Name string
	// Session is the provider's id of its session, "" for none.
	Session string
	Role    auth.Role
	// Projects are the ids of the projects to which the login is limited, nil for no limit.
	Projects []string
	// EndedAt is 0 until the login has ended.
	CreatedAt, ExpiresAt, EndedAt int64
}

func (l Login) counts(at int64) bool { return l.EndedAt == 0 && at < l.ExpiresAt }

func (l Login) principal() auth.Principal {
	who := auth.Principal{Actor: l.Actor, Role: l.Role, TokenID: l.ID, Provider: l.Provider, Name: l.Name}
	if l.Projects != nil {
		who.Projects = auth.LimitTo(l.Projects...)
	}
	return who
}

// row is a login with its secret columns.
type row struct {
	Login
	hash, refresh string
	refreshedAt   int64
}

const columns = `id, hash, provider, subject, session, actor, name, role, projects, created_at, expires_at, ended_at, refresh, refreshed_at`

func scan(from database.Row) (r row, err error) {
	var projects, role string
	err = from.Scan(&r.ID, &r.hash, &r.Provider, &r.Subject, &r.Session, &r.Actor, &r.Name, &role, &projects, &r.CreatedAt,
		&r.ExpiresAt, &r.EndedAt, &r.refresh, &r.refreshedAt)
	for _, text := range []*string{&r.Subject, &r.Session, &r.Actor, &r.Name} {
		*text = database.DecodeText(*text)
	}
	r.Role = auth.Role(role)
	// An invalid limit allows no project.
	if projects != "" && (json.Unmarshal([]byte(projects), &r.Projects) != nil || r.Projects == nil) {
		r.Projects = []string{}
	}
	return r, err
}

func (r row) values() ([]any, error) {
	projects := ""
	if r.Projects != nil {
		list, err := json.Marshal(r.Projects)
		if err != nil {
			return nil, err
		}
		projects = string(list)
	}
	return []any{r.ID, r.hash, r.Provider, database.EncodeText(r.Subject), database.EncodeText(r.Session), database.EncodeText(r.Actor),
		database.EncodeText(r.Name), string(r.Role), projects, r.CreatedAt, r.ExpiresAt, r.EndedAt, r.refresh, r.refreshedAt}, nil
}

// secretBytes is the number of random bytes in a secret.
const secretBytes = 32

func newSecret() string {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // it never fails
	return auth.LoginPrefix + base64.RawURLEncoding.EncodeToString(random)
}

// hashOf returns the stored hash of a secret, which is random enough to need no salt and no slow hash.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

var errSealed = errors.New("the refresh token was encrypted with another client secret than the present one")

// seal encrypts a refresh token for the row of a login. "" stays "".
func seal(key []byte, id, token string) (string, error) {
	if token == "" || key == nil {
		return "", nil
	}
	aead, err := cipherOf(key)
	if err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(aead.Seal(nil, nil, []byte(token), []byte(id))), nil
}

func unseal(key []byte, id, sealed string) (string, error) {
	if key == nil {
		return "", errSealed
	}
	aead, err := cipherOf(key)
	if err != nil {
		return "", err
	}
	raw, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return "", fmt.Errorf("read a refresh token: %w", err)
	}
	token, err := aead.Open(nil, nil, raw, []byte(id))
	if err != nil {
		return "", errSealed
	}
	return string(token), nil
}

// cipherOf returns a cipher that makes its own nonces.
func cipherOf(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
