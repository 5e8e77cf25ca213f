package ledger_test

import (
	"context"
	"errors"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/tools"
	"harness/internal/services/tools/ledger"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

// A call is refused if its agent's session moved to another node, even between the acceptance and the start of the
// call. The end of a running call can be recorded.
func TestCallsOfASessionThatMovedAreNotRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := journal.New(db, journal.Options{})
		lifecycletest.Run(t, log)
		change := func(query string, args ...any) {
			t.Helper()
			if _, err := log.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				_, err := tx.ExecContext(ctx, query, args...)
				return nil, err
			}); err != nil {
				t.Fatal(err)
			}
		}
		change(`insert into sessions (id, runtime, runtime_session_id, node_id, title, cwd, source, model_provider, thread, system_owned,
			archived, created_at, updated_at) values ('s', 'codex', 's', 'one', '', '', '', '', 'null', 0, 0, 0, 0)`)
		calls := ledger.New(log, "one", nil)
		open := func() (tools.Call, error) {
			call, _, err := calls.Open(t.Context(), tools.Call{SessionID: "s", Tool: "t"}, tools.Requested{})
			return call, err
		}
		call, err := open()
		if err != nil {
			t.Fatal(err)
		}
		change(`update sessions set node_id = 'two' where id = 's'`)
		var moved *ledger.MovedError
		if err := calls.Record(t.Context(), call, tools.Approved{}, tools.Started{}); !errors.As(err, &moved) || moved.Owner != "two" {
			t.Errorf("the call begins: %v", err)
		}
		if _, err := open(); !errors.As(err, &moved) {
			t.Errorf("another call is taken: %v", err)
		}
		if err := calls.Record(t.Context(), call, tools.Denied{Reason: "its session moved"}); err != nil {
			t.Errorf("that it was not run cannot be recorded: %v", err)
		}
		change(`update sessions set node_id = 'one' where id = 's'`)
		if call, err = open(); err != nil {
			t.Fatal(err)
		}
		change(`update sessions set epoch = 2 where id = 's'`) // moved away and back
		if err := calls.Record(t.Context(), call, tools.Approved{}, tools.Started{}); !errors.As(err, &moved) || moved.Owner != "one" {
			t.Errorf("a call from before the session went away begins: %v", err)
		}
		change(`update sessions set epoch = 0 where id = 's'`)
		if err := calls.Record(t.Context(), call, tools.Approved{}, tools.Started{}); err != nil {
			t.Errorf("a call of a session that came back: %v", err)
		}
	})
}
