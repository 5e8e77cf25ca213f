package transcripts

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// pass makes all stored data this many days older.
func pass(s *programtest.Site, days int64) {
	s.T.Helper()
	db := dbtest.Connect(s.T, s.Store())
	err := db.Update(s.T.Context(), func(tx database.Tx) error {
		// The server records this within an hour.
		if _, err := tx.ExecContext(s.T.Context(),
			`update sessions set archived_at = updated_at where archived = 1`); err != nil {
			return err
		}
		for _, column := range []string{"journal_events.time", "turns.completed_at", "turns.started_at",
			"sessions.archived_at", "sessions.updated_at",
			"interactive_requests.settled_at", "rolled_back_turns.rolled_back_at"} {
			table, name, _ := strings.Cut(column, ".")
			if _, err := tx.ExecContext(s.T.Context(), `update `+table+` set `+name+` = `+name+` - $1 where `+name+` > 0`,
				days*24*3600*1000); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// After years with the default settings, the events are pruned, and a client that resumes gets a gap. The active
// session is unchanged, and the archived one is restored from codex when it is read.
func TestYearsWithTheDefaults(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine))
			server := s.Start()
			live, archived := server.CreateSession(nil), server.CreateSession(nil)
			events := server.Follow("after=0")
			for _, session := range []string{live, archived} {
				events.WaitTurn(server.Send(session, "MOCK_REPLY[kept words]"))
			}
			server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+live+"/transcript/upsert",
				programtest.Object{"messageId": "note", "turnId": "ours", "role": "system", "type": "note", "content": "a note",
					"status": "complete"})
			server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+archived+"/archive", nil)
			before := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+live, nil)["transcript"]
			server.Stop()
			pass(s, 3*365)
			server = s.Start()
			server.Eventually("what is over goes", func() bool {
				text := server.Metrics()
				return strings.Contains(text, `harness_retention_rows_total{table="journal_events"}`) &&
					strings.Contains(text, `harness_retention_rows_total{table="archived_transcripts"}`)
			})
			if events := server.Follow("after=0"); events.WaitType("gap").Raw == "" {
				t.Error("a client that resumes from before gets no gap")
			}
			if after := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+live, nil)["transcript"]; programtest.Encoded(t,
				before) != programtest.Encoded(t, after) {
				t.Errorf("the session that is not archived shows %v, before %v", after, before)
			}
			server.WaitRuntime()
			server.Eventually("codex's own history of the archived session is shown", func() bool {
				_, detail := server.Call(http.MethodGet, "/api/sessions/"+archived, nil)
				return strings.Contains(programtest.Encoded(t, detail["transcript"]), "kept words")
			})
			server.Stop()
		})
	}
}

// A new table needs a line on the page about the limits of stored data.
func TestEveryTableIsOnThePageOfWhatIsKept(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, kept, _ := strings.Cut(string(page), "\n## What is kept, and for how long\n")
	kept, _, _ = strings.Cut(kept, "\n## ")
	db := dbtest.Open(t, database.SQLite)
	rows, err := db.Read().QueryContext(t.Context(),
		`select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like 'goose_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	tables := 0
	for ; rows.Next(); tables++ {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(kept, "`"+name+"`") {
			t.Errorf("docs/operations.md does not say what bounds %s", name)
		}
	}
	if err := rows.Err(); err != nil || tables < 20 {
		t.Errorf("%d tables, %v", tables, err)
	}
}
