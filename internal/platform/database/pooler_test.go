package database_test

import (
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// A pooler that gives each transaction another connection is refused, with a remedy. That holds however it chooses
// connections, and whatever the setting for prepared statements. A pooler with a connection for each client is
// accepted.
func TestAPoolerOfTransactionsIsRefused(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		mode, setting, query string
		refused              bool
	}{
		"transaction":          {"transaction", "", "", true},
		"statement":            {"statement", "", "", true},
		"in turn":              {"transaction", "server_round_robin = 1\nmin_pool_size = 2", "", true},
		"nothing prepared":     {"transaction", "", "&default_query_exec_mode=exec", true},
		"session":              {"session", "", "", false},
		"session, for readers": {"session", "", "&default_query_exec_mode=exec", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := database.Open(t.Context(), database.Options{URL: dbtest.Pooler(t, one.mode, one.setting) + one.query})
			if one.refused {
				if err == nil {
					_ = db.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "pool_mode=session") {
					t.Errorf("it is opened with %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := db.Read().QueryRowContext(t.Context(), `select $1::int`, 7).Scan(&n); err != nil || n != 7 {
				t.Errorf("read %d: %v", n, err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
