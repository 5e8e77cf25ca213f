package server

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions/action"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/tests/dbtest"
	"harness/tests/polling"
	"harness/tests/sessiontest"
)

// No call of an extension shows rows that only the primary has: it waits for the standby.
func TestExtensionsWaitForTheStandby(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t)
	db := dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())})
	if _, err := migrations.Up(t.Context(), db, ""); err != nil {
		t.Fatal(err)
	}
	site := sessiontest.Open(t, db)
	log := journal.New(db, journal.Options{Logger: zerolog.Nop(), Barrier: true, PollInterval: time.Hour})
	site.Start(log)
	id := site.NewSession()

	hasty, err := url.Parse(pair.URL(pair.Primary()))
	if err != nil {
		t.Fatal(err)
	}
	query := hasty.Query()
	query.Set("synchronous_commit", "local")
	hasty.RawQuery = query.Encode()
	other := dbtest.Connect(t, database.Options{URL: hasty.String()})
	writer := journal.New(other, journal.Options{Logger: zerolog.Nop()})
	site.Start(writer)
	pair.Alone(func() error {
		_, err := writer.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			_, err := tx.ExecContext(ctx, `update sessions set title = 'of another node' where id = $1`, id)
			return nil, err
		})
		return err
	})
	parts := actionParts{site.Service, log}
	asked := map[string]func(ctx context.Context) error{
		"settings": func(ctx context.Context) error {
			_, err := extensionSettings{site.Service, log}.SessionSettings(ctx, id)
			return err
		},
		"an approval": func(ctx context.Context) error {
			_, err := parts.Approval(ctx, "none")
			return err
		},
		"a refusal": func(ctx context.Context) error { return parts.Rename(ctx, id, "b", "another title") },
	}
	for what, ask := range asked {
		if err := ask(journal.Patient(t.Context(), 50*time.Millisecond)); !database.Refused(err) {
			t.Errorf("%s is shown although the standby does not have it: %v", what, err)
		}
	}
	answers := make(chan error, len(asked))
	for _, ask := range asked {
		go func() { answers <- ask(t.Context()) }()
	}
	if !polling.Until(time.Minute, func() bool {
		var waiting int
		err := db.Read().QueryRowContext(t.Context(), `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`).Scan(&waiting)
		return err == nil && waiting > 0
	}) {
		t.Fatal("no call waits for the standby")
	}
	select {
	case err := <-answers:
		t.Errorf("a call did not wait: %v", err)
	default:
	}
	pair.Rejoin()
	for range asked {
		if err := <-answers; err != nil && !isShownReason(err) {
			t.Error(err)
		}
	}
}

// isShownReason reports whether an error may be shown.
func isShownReason(err error) bool {
	return strings.Contains(err.Error(), action.ErrGone.Error()) || strings.Contains(err.Error(), action.ErrResolved.Error())
}
