package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"harness/database"
	"harness/internal/dbtest"
)

// pass has all that is stored be so many days older.
func (s *site) pass(days int64) {
	s.t.Helper()
	db := dbtest.Connect(s.t, s.store())
	err := db.Update(s.t.Context(), func(tx database.Tx) error {
		// As the server notes within an hour.
		if _, err := tx.ExecContext(s.t.Context(),
			`update sessions set archived_at = updated_at where archived = 1`); err != nil {
			return err
		}
		for _, column := range []string{"journal_events.time", "turns.completed_at", "turns.started_at",
			"sessions.archived_at", "sessions.updated_at",
			"interactive_requests.settled_at", "rolled_back_turns.rolled_back_at"} {
			table, name, _ := strings.Cut(column, ".")
			if _, err := tx.ExecContext(s.t.Context(), `update `+table+` set `+name+` = `+name+` - $1 where `+name+` > 0`,
				days*24*3600*1000); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Years pass, with the settings as they are shipped: the events are gone and who resumes is told so, the session that
// is not archived is as it was, and the archived one comes back from codex when somebody reads it.
func TestYearsWithTheDefaults(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine))
			server := s.start()
			live, archived := server.createSession(nil), server.createSession(nil)
			events := server.follow("after=0")
			for _, session := range []string{live, archived} {
				events.waitTurn(server.send(session, "MOCK_REPLY[kept words]"))
			}
			server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+live+"/transcript/upsert",
				object{"messageId": "note", "turnId": "ours", "role": "system", "type": "note", "content": "a note",
					"status": "complete"})
			server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+archived+"/archive", nil)
			before := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+live, nil)["transcript"]
			server.stop()
			s.pass(3 * 365)
			server = s.start()
			server.eventually("what is over goes", func() bool {
				text := server.metrics()
				return strings.Contains(text, `harness_retention_rows_total{table="journal_events"}`) &&
					strings.Contains(text, `harness_retention_rows_total{table="archived_transcripts"}`)
			})
			if events := server.follow("after=0"); events.waitType("gap").raw == "" {
				t.Error("who resumes from before is not told of the gap")
			}
			if after := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+live, nil)["transcript"]; encoded(t,
				before) != encoded(t, after) {
				t.Errorf("the session that is not archived shows %v, before %v", after, before)
			}
			server.waitRuntime()
			server.eventually("codex's own history of the archived session is shown", func() bool {
				_, detail := server.call(http.MethodGet, "/api/sessions/"+archived, nil)
				return strings.Contains(encoded(t, detail["transcript"]), "kept words")
			})
			server.stop()
		})
	}
}

// Whoever adds a table says on the page what bounds it.
func TestEveryTableIsOnThePageOfWhatIsKept(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
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
