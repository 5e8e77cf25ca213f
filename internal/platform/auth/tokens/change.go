package tokens

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Journal events about tokens; the audit log includes them. Their payload is a record, which never contains the secret.
const (
	EventCreated = eventPrefix + "created"
	EventChanged = eventPrefix + "changed"
	EventRevoked = eventPrefix + "revoked"

	eventPrefix = "access_token."
)

// record is the journal's payload of a change.
type record struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Role      Role   `json:"role"`
	ExpiresAt int64  `json:"expiresAt,omitempty"`
	// Was is the previous role.
	Was Role `json:"was,omitempty"`
	// Projects are the projects to which the token is limited.
	Projects []string `json:"projects,omitempty"`
}

func event(kind string, t Token, was Role) (journal.Event, error) {
	payload, err := json.Marshal(record{t.ID, t.Name, t.Role, t.ExpiresAt, was, t.Projects})
	return journal.Event{Type: kind, Source: "tokens", Payload: payload}, err
}

// List returns all tokens, including revoked ones, the oldest first.
func (s *Service) List(ctx context.Context) ([]Token, error) {
	rows, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Token, len(rows))
	for i, r := range rows {
		all[i] = r.Token
	}
	return all, nil
}

// Create makes a token with a name, a role and its creator. It has an expiry time in ms (0: never) and projects (nil:
// no limit), which the caller must check. Only the returned value has its secret. *InvalidError, *NameTakenError.
func (s *Service) Create(ctx context.Context, wanted Token) (Token, string, error) {
	made := row{Token: Token{Name: wanted.Name, Role: wanted.Role, CreatedBy: wanted.CreatedBy,
		ExpiresAt: wanted.ExpiresAt, Projects: wanted.Projects, CreatedAt: s.now()}}
	if err := made.check(made.CreatedAt); err != nil {
		return Token{}, "", err
	}
	secret := newSecret()
	made.ID, made.hash = ids.New(), hashOf(secret)
	role, projects, err := made.stored()
	if err != nil {
		return Token{}, "", err
	}
	_, err = s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := read(ctx, tx, `name = $1 and revoked_at = 0`, made.Name)
		if err == nil {
			return nil, &NameTakenError{made.Name}
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, `insert into access_tokens (`+columns+`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			made.ID, made.Name, role, made.hash, made.CreatedAt, database.EncodeText(made.CreatedBy),
			made.ExpiresAt, made.RevokedAt, projects)
		if err != nil {
			return nil, fmt.Errorf("store the token %s: %w", made.Name, err)
		}
		e, err := event(EventCreated, made.Token, "")
		return []journal.Event{e}, err
	})
	if err != nil {
		return Token{}, "", err
	}
	s.settle(ctx, made)
	return made.Token, secret, nil
}

// ChangeRole gives a token another role and closes its connections. ErrNotFound, ErrRevoked, *InvalidError.
func (s *Service) ChangeRole(ctx context.Context, id string, role Role) (Token, error) {
	if err := role.check(); err != nil {
		return Token{}, err
	}
	return s.change(ctx, id, func(now Token) (Token, string, error) {
		if now.RevokedAt != 0 {
			return now, "", ErrRevoked
		}
		if now.Role == role {
			return now, "", nil
		}
		now.Role = role
		return now, EventChanged, nil
	})
}

// Revoke ends a token permanently and closes its connections. Repeating it changes nothing. ErrNotFound.
func (s *Service) Revoke(ctx context.Context, id string) (Token, error) {
	return s.change(ctx, id, func(now Token) (Token, string, error) {
		if now.RevokedAt != 0 {
			return now, "", nil
		}
		now.RevokedAt = s.now()
		return now, EventRevoked, nil
	})
}

// change stores a token edited by edit, with its event ("" for no change), and applies it.
func (s *Service) change(ctx context.Context, id string, edit func(now Token) (Token, string, error)) (Token, error) {
	var changed row
	_, err := s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		before, err := read(ctx, tx, `id = $1`, database.EncodeText(id))
		if err != nil {
			return nil, err
		}
		after, kind, err := edit(before.Token)
		changed = row{after, before.hash}
		if err != nil || kind == "" {
			return nil, err
		}
		role, _, err := after.stored()
		if err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, `update access_tokens set role = $2, revoked_at = $3 where id = $1`, after.ID,
			role, after.RevokedAt); err != nil {
			return nil, fmt.Errorf("change the token %s: %w", after.Name, err)
		}
		was := before.Role
		if was == after.Role {
			was = ""
		}
		e, err := event(kind, after, was)
		return []journal.Event{e}, err
	})
	if err != nil {
		return Token{}, err
	}
	s.settle(ctx, changed)
	return changed.Token, nil
}

func read(ctx context.Context, tx database.Tx, where string, value string) (row, error) {
	found, err := scan(tx.QueryRowContext(ctx, `select `+columns+` from access_tokens where `+where, value))
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, ErrNotFound
	}
	if err != nil {
		return row{}, fmt.Errorf("read an access token: %w", err)
	}
	return found, nil
}

// readWait bounds how long a committed change waits for the store.
const readWait = 5 * time.Second

// settle applies a committed change before the request is answered, even if the caller no longer waits.
func (s *Service) settle(ctx context.Context, changed row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWait)
	defer cancel()
	if err := s.refresh(ctx); err != nil {
		s.opts.Logger.Warn().Err(err).Msg("cannot reload the access tokens after a change; using the change itself")
		s.apply(changed)
	}
}
