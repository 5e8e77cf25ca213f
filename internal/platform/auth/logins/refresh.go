package logins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// refreshAll asks the providers, while the server runs, whether the logins are still valid.
func (s *Service) refreshAll(ctx context.Context) {
	tick := time.NewTicker(refreshEvery / 5)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Msg("some logins could not be confirmed at their providers; they end an hour after the last confirmation")
		}
	}
}

// Refresh asks the providers of logins that have not been confirmed for 5 minutes. A login that ended at its provider
// ends here. A role that changed there also changes here, which closes the login's connections.
func (s *Service) Refresh(ctx context.Context) error {
	if err := s.reread(ctx); err != nil { // other servers confirm, too
		return err
	}
	due, err := database.ReadAll(ctx, s.opts.DB.Read(), "read the logins to confirm", scan, `select `+columns+
		` from logins where ended_at = 0 and expires_at > $1 and refresh <> '' and refreshed_at <= $2`, s.now(),
		s.now()-refreshEvery.Milliseconds())
	if err != nil {
		return err
	}
	for _, r := range due {
		err = errors.Join(err, s.refresh(ctx, r))
	}
	return err
}

// refresh asks the provider about one login, unless another server of the store does.
func (s *Service) refresh(ctx context.Context, r row) error {
	mine, err := s.claim(ctx, &r)
	if err != nil || !mine {
		return err
	}
	token, err := unseal(s.opts.Providers.Key(r.Provider), r.ID, r.refresh)
	if err != nil {
		_, err = s.end(ctx, err.Error(), `id = $1`, r.ID)
		return err
	}
	who, err := s.opts.Providers.Refresh(ctx, r.Provider, r.Subject, token)
	var ended *oidc.RefusedError
	if errors.As(err, &ended) || errors.Is(err, oidc.ErrNoProvider) {
		_, err = s.end(ctx, fmt.Sprintf("its provider no longer confirms it: %.200s", err), `id = $1`, r.ID)
		return err
	}
	if err != nil {
		return err
	}
	return s.confirm(ctx, r, who, token)
}

// claim ensures that only this server asks the provider: many providers end a login whose refresh token is used twice.
func (s *Service) claim(ctx context.Context, r *row) (mine bool, err error) {
	before := r.refreshedAt
	r.refreshedAt = s.now()
	_, err = s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		result, err := tx.ExecContext(ctx, `update logins set refreshed_at = $3
			where id = $1 and refreshed_at = $2 and ended_at = 0`, r.ID, before, r.refreshedAt)
		if err != nil {
			return nil, fmt.Errorf("claim a login to confirm: %w", err)
		}
		changed, err := result.RowsAffected()
		mine = changed == 1
		return nil, err
	})
	return mine, err
}

// confirm stores the provider's current answer about a login. r is the claimed row, token the refresh token that was
// used.
func (s *Service) confirm(ctx context.Context, r row, who oidc.Identity, token string) error {
	if who.Refresh == "" {
		who.Refresh = token
	}
	now := r
	if who.Role != "" { // the answer has a new ID token
		now.Name, now.Role = who.Name, who.Role
	}
	now.ExpiresAt = now.until(who, s.opts.Clock())
	var err error
	if now.refresh, err = seal(s.opts.Providers.Key(r.Provider), r.ID, who.Refresh); err != nil {
		return err
	}
	_, err = s.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `update logins set name = $2, role = $3, expires_at = $4, refresh = $5 where id = $1 and ended_at = 0`,
			r.ID, database.EncodeText(now.Name), string(now.Role), now.ExpiresAt, now.refresh)
		if err != nil {
			return nil, fmt.Errorf("store a confirmed login: %w", err)
		}
		if now.Name == r.Name && now.Role == r.Role {
			return nil, nil
		}
		e, err := event(EventChanged, now.Login, "")
		return []journal.Event{e}, err
	})
	if err != nil {
		return err
	}
	s.settle(ctx, now)
	return nil
}
