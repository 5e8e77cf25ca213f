package mcphost

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Journal has the methods of the event log that this package needs; *journal.Journal implements it.
type Journal interface {
	Commit(ctx context.Context, unit journal.Unit) ([]journal.Record, error)
}

// Grants are bearers that prove which session an agent works for. They are signed, so none is stored, and are valid as
// long as the secret: an agent that outlives a server keeps its bearer.
type Grants struct {
	secret  []byte
	db      *database.DB
	journal Journal
	now     func() time.Time
}

// SecretBytes is the required length of a secret.
const SecretBytes = 32

// NewGrants makes the grants of a server. now may be nil.
func NewGrants(secret []byte, db *database.DB, events Journal, now func() time.Time) (*Grants, error) {
	if len(secret) != SecretBytes {
		return nil, fmt.Errorf("the secret of the grants has %d bytes, not %d", len(secret), SecretBytes)
	}
	if now == nil {
		now = time.Now
	}
	return &Grants{secret, db, events, now}, nil
}

// ErrNoGrant means that a bearer is not one of this server's, or that its session is unknown.
var ErrNoGrant = errors.New("the bearer gives access to no session")

// The kinds of grant: for a session, and for a conversation without a session id yet.
const (
	ofSession = "session"
	unnamed   = "unnamed"
)

// Token returns the bearer of a session.
func (g *Grants) Token(sessionID string) string { return g.sign(ofSession, sessionID) }

// Unnamed returns a bearer for a conversation that is not a session yet; bind assigns the session.
func (g *Grants) Unnamed() (token string, bind func(ctx context.Context, sessionID string) error) {
	id := uuid.NewString()
	return g.sign(unnamed, id), func(ctx context.Context, sessionID string) error {
		at := g.now().UnixMilli()
		_, err := g.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			_, err := tx.ExecContext(ctx, `insert into tool_grants (grant_id, session_id, created_at) values ($1, $2, $3)`, id,
				database.EncodeText(sessionID), at)
			if err != nil {
				return nil, fmt.Errorf("store the access of session %s to tools: %w", sessionID, err)
			}
			return nil, nil
		})
		return err
	}
}

// genuine reports whether a bearer is one of this server's, and returns its kind and name.
func (g *Grants) genuine(token string) (kind, name string, ok bool) {
	kind, rest, _ := strings.Cut(token, ".")
	named, _, _ := strings.Cut(rest, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(named)
	if err != nil || !hmac.Equal([]byte(token), []byte(g.sign(kind, string(decoded)))) {
		return "", "", false
	}
	return kind, string(decoded), kind == ofSession || kind == unnamed
}

func (g *Grants) sign(kind, name string) string {
	mac := hmac.New(sha256.New, g.secret)
	mac.Write([]byte(kind + "\x00" + name))
	encoding := base64.RawURLEncoding
	return kind + "." + encoding.EncodeToString([]byte(name)) + "." + encoding.EncodeToString(mac.Sum(nil))
}

// Session returns the session of a bearer, "" while that has no id; genuine is false for a bearer that this server did
// not sign.
func (g *Grants) Session(ctx context.Context, token string) (id string, genuine bool, err error) {
	kind, name, genuine := g.genuine(token)
	if !genuine || kind == ofSession {
		return name, genuine, nil
	}
	err = g.db.Read().QueryRowContext(ctx, `select session_id from tool_grants where grant_id = $1`, name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", true, nil
	}
	if err != nil {
		return "", true, fmt.Errorf("look for the session of a grant: %w", err)
	}
	return database.DecodeText(id), true, nil
}
