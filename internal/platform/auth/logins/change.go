package logins

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/platform/auth"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Journal events about logins; the audit log includes them. Their payload is a record, which never contains the secret.
const (
	EventBegan   = eventPrefix + "began"
	EventChanged = eventPrefix + "changed"
	EventEnded   = eventPrefix + "ended"

	eventPrefix = "login."
)

// record is the journal's payload of a change.
type record struct {
	ID       string    `json:"id"`
	Provider string    `json:"provider"`
	Actor    string    `json:"actor"`
	Name     string    `json:"name"`
	Role     auth.Role `json:"role"`
	// Reason is why the login ended.
	Reason string `json:"reason,omitempty"`
}

func event(kind string, l Login, reason string) (journal.Event, error) {
	payload, err := json.Marshal(record{l.ID, l.Provider, l.Actor, l.Name, l.Role, reason})
	return journal.Event{Type: kind, Source: "logins", Payload: payload}, err
}

// Begin stores the login of a person for whom a provider vouches. Only the returned value has its secret.
func (s *Service) Begin(ctx context.Context, who oidc.Identity) (Login, string, error) {
	now := s.opts.Clock()
	secret := newSecret()
	made := row{hash: hashOf(secret), refreshedAt: now.UnixMilli(), Login: Login{ID: ids.New(), Provider: who.Provider,
		Subject: who.Subject, Session: who.Session, Actor: who.Actor, Name: who.Name, Role: who.Role, Projects: who.Projects,
		CreatedAt: now.UnixMilli()}}
	made.ExpiresAt = made.until(who, now)
	var err error
	if made.refresh, err = seal(s.opts.Providers.Key(who.Provider), made.ID, who.Refresh); err != nil {
		return Login{}, "", err
	}
	values, err := made.values()
	if err != nil {
		return Login{}, "", err
	}
	ctx = auth.WithPrincipal(ctx, made.principal()) // the person who logs in is the actor
	_, err = s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `delete from logins where provider = $1 and subject = $2 and expires_at < $3`, made.Provider,
			database.EncodeText(made.Subject), now.Add(-kept).UnixMilli())
		if err == nil {
			_, err = tx.ExecContext(ctx, `insert into logins (`+columns+`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
				values...)
		}
		if err != nil {
			return nil, fmt.Errorf("store a login: %w", err)
		}
		e, err := event(EventBegan, made.Login, "")
		return []journal.Event{e}, err
	})
	if err != nil {
		return Login{}, "", err
	}
	s.settle(ctx, made)
	return made.Login, secret, nil
}

// until returns when a login expires: with its ID token or, with refreshes, some time after the provider's last answer.
func (r *row) until(who oidc.Identity, now time.Time) int64 {
	end := who.Expires
	if last := now.Add(unconfirmed); who.Refresh != "" && last.After(end) {
		end = last
	}
	return min(end.UnixMilli(), r.CreatedAt+longestLogin.Milliseconds())
}

// End ends the login of a secret and closes its connections. An unknown secret changes nothing.
func (s *Service) End(ctx context.Context, secret string) error {
	_, err := s.end(ctx, "logged out", `hash = $1`, hashOf(secret))
	return err
}

// EndAt ends the logins that a provider reports as ended: those of a subject, or only those of one session. Either
// argument may be "". It returns the number of ended logins.
func (s *Service) EndAt(ctx context.Context, provider, subject, session string) (int, error) {
	where, args := `provider = $1`, []any{provider}
	if subject != "" {
		args = append(args, database.EncodeText(subject))
		where += fmt.Sprintf(` and subject = $%d`, len(args))
	}
	if session != "" {
		args = append(args, database.EncodeText(session))
		where += fmt.Sprintf(` and session = $%d`, len(args))
	}
	if len(args) == 1 {
		return 0, nil
	}
	return s.end(ctx, "logged out at the provider", where, args...)
}

// end ends logins, and returns once none of them is valid.
func (s *Service) end(ctx context.Context, reason, where string, args ...any) (int, error) {
	var ended []row
	_, err := s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
		ended, err = database.ReadAll(ctx, tx, "read the logins that end", scan,
			`select `+columns+` from logins where ended_at = 0 and `+where, args...)
		if err != nil {
			return nil, err
		}
		events = nil
		for i := range ended {
			ended[i].EndedAt = s.now()
			if _, err := tx.ExecContext(ctx, `update logins set ended_at = $2, refresh = '' where id = $1`, ended[i].ID,
				ended[i].EndedAt); err != nil {
				return nil, fmt.Errorf("end a login: %w", err)
			}
			e, err := event(EventEnded, ended[i].Login, reason)
			if err != nil {
				return nil, err
			}
			events = append(events, e)
		}
		return events, nil
	})
	if err != nil {
		return 0, err
	}
	s.settle(ctx, ended...)
	return len(ended), nil
}

// readWait bounds how long a committed change waits for the store.
const readWait = 5 * time.Second

// settle applies committed changes before the request is answered, even if the caller no longer waits.
func (s *Service) settle(ctx context.Context, changed ...row) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWait)
	defer cancel()
	if err := s.reread(ctx); err != nil {
		s.opts.Logger.Warn().Err(err).Msg("cannot reload the logins after a change; using the change itself")
		for _, r := range changed {
			s.apply(r)
		}
	}
}
