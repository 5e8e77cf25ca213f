package programtest

import (
	"encoding/json"
	"path/filepath"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// FoldJournal reads the whole journal of a stopped site, checks that it has no gaps, and folds the upserts of a
// session.
func (s *Site) FoldJournal(session string) map[string]string {
	s.T.Helper()
	db := dbtest.Connect(s.T, s.Store())
	log := journal.New(db, journal.Options{})
	fold := map[string]string{}
	seqs := map[string]int64{}
	after := int64(0)
	for {
		records, err := log.Read(s.T.Context(), journal.Query{After: after})
		if err != nil {
			s.T.Fatal(err)
		}
		if len(records) == 0 {
			return fold
		}
		for _, r := range records {
			seqs[r.SessionID]++
			if r.Pos != after+1 || r.Seq != seqs[r.SessionID] {
				s.T.Fatalf("after pos %d comes pos %d; session %q has seq %d, want %d", after, r.Pos, r.SessionID, r.Seq,
					seqs[r.SessionID])
			}
			after = r.Pos
			if r.Type == "transcript_updated" && r.SessionID == session {
				var payload struct {
					Entry struct{ MessageID, Content string }
				}
				if err := json.Unmarshal(r.Payload, &payload); err != nil {
					s.T.Fatal(err)
				}
				fold[payload.Entry.MessageID] = payload.Entry.Content
			}
		}
	}
}

// Store returns the site's database, for tests that read it while no server runs.
func (s *Site) Store() database.Options {
	if s.DatabaseURL != "" {
		return database.Options{URL: s.DatabaseURL}
	}
	return database.Options{Path: filepath.Join(s.DataDir, "harness.db")}
}
