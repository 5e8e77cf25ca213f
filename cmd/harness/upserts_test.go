package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"encoding/json"

	"harness/database"
	"harness/internal/dbtest"
	"harness/journal"
)

// The server is killed with SIGKILL at random moments while clients post 1,000 upserts. Every acknowledged one is there afterwards, the
// journal has no gap, and the transcript equals the fold of the journal's events (TR-12, EV-02).
func TestAcknowledgedUpsertsSurviveKills(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const total, clients = 1000, 8
			s := newSite(t, withEngine(engine))
			random := rand.New(rand.NewPCG(11, uint64(len(engine))))
			server := s.start()
			session := server.createSession(nil)

			var (
				mu           sync.Mutex
				next         int
				acknowledged = map[string]string{} // messageId -> content of the last acknowledged write
				doubtful     = map[string]string{} // messageId -> content of a write whose answer never came
			)
			kills := 0
			for next < total {
				// Counted, not timed: however busy the machine is, writes are acknowledged between two kills. The other clients are anywhere then.
				var group sync.WaitGroup
				left, due := 1+random.IntN(80), make(chan struct{})
				for range clients {
					group.Go(func() {
						for {
							mu.Lock()
							if next == total {
								mu.Unlock()
								return
							}
							n := next
							next++
							mu.Unlock()
							id, content := fmt.Sprintf("m%d", n), fmt.Sprintf("content %d", n)
							status, _, err := server.try(http.MethodPost, "/api/sessions/"+session+"/transcript/upsert", object{
								"messageId": id, "turnId": "ci", "role": "assistant", "type": "agentMessage", "content": content, "status": "complete",
							})
							mu.Lock()
							if err == nil && status == http.StatusOK {
								acknowledged[id] = content
								if left--; left == 0 {
									close(due)
								}
							} else {
								doubtful[id] = content
							}
							mu.Unlock()
							if err != nil {
								return // the server is gone
							}
						}
					})
				}
				finished := make(chan struct{})
				go func() {
					group.Wait()
					close(finished)
				}()
				select {
				case <-finished:
				case <-due:
					kills++
				}
				server.kill()
				<-finished
				server = s.start()
			}
			t.Logf("%d kills, %d acknowledged, %d without an answer", kills, len(acknowledged), len(doubtful))
			if kills < 2 || len(acknowledged) < total/2 {
				t.Fatalf("the test lost its point: %d kills, %d acknowledged", kills, len(acknowledged))
			}

			got := map[string]string{}
			for _, entry := range server.transcript(session) {
				got[text(entry, "messageId")] = text(entry, "content")
			}
			server.stop()
			for id, content := range acknowledged {
				if got[id] != content {
					t.Errorf("acknowledged %s is %q", id, got[id])
				}
			}
			fold := s.foldJournal(session)
			for id, content := range got {
				if fold[id] != content {
					t.Errorf("%s is %q in the transcript and %q in the journal's fold", id, content, fold[id])
				}
			}
			if len(fold) != len(got) {
				t.Errorf("%d entries, the journal folds to %d", len(got), len(fold))
			}
		})
	}
}

// foldJournal reads the whole journal of a stopped site, checks that it is gap-free, and folds the upserts of a session.
func (s *site) foldJournal(session string) map[string]string {
	s.t.Helper()
	db := dbtest.Connect(s.t, s.store())
	log := journal.New(db, journal.Options{})
	fold := map[string]string{}
	seqs := map[string]int64{}
	after := int64(0)
	for {
		records, err := log.Read(s.t.Context(), journal.Query{After: after})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(records) == 0 {
			return fold
		}
		for _, r := range records {
			seqs[r.SessionID]++
			if r.Pos != after+1 || r.Seq != seqs[r.SessionID] {
				s.t.Fatalf("after pos %d comes pos %d; session %q has seq %d, want %d", after, r.Pos, r.SessionID, r.Seq, seqs[r.SessionID])
			}
			after = r.Pos
			if r.Type == "transcript_updated" && r.SessionID == session {
				var payload struct {
					Entry struct{ MessageID, Content string }
				}
				if err := json.Unmarshal(r.Payload, &payload); err != nil {
					s.t.Fatal(err)
				}
				fold[payload.Entry.MessageID] = payload.Entry.Content
			}
		}
	}
}

// store is the site's database, for tests that look at it while no server runs.
func (s *site) store() database.Options {
	if s.databaseURL != "" {
		return database.Options{URL: s.databaseURL}
	}
	return database.Options{Path: filepath.Join(s.dataDir, "harness.db")}
}
