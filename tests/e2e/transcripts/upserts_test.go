package transcripts

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// The server is killed with SIGKILL at random moments while clients post 1,000 requests, half of them with many
// upserts. Afterwards every acknowledged request is there. A request without a response is there completely or not at
// all. The journal has no gap, and the transcript equals the fold of the journal's events (TR-12, EV-02).
func TestAcknowledgedUpsertsSurviveKills(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const total, clients = 1000, 8
			s := programtest.New(t, programtest.WithEngine(engine))
			random := rand.New(rand.NewPCG(11, uint64(len(engine))))
			server := s.Start()
			session := server.CreateSession(nil)

			var (
				mu           sync.Mutex
				next         int
				acknowledged = map[string]string{} // messageId -> content of the last acknowledged write
				doubtful     [][]string            // messageIds of requests that got no response
			)
			kills := 0
			for next < total {
				// The kills are triggered by a count, not by time, so that writes are acknowledged between two kills even on a
				// busy machine. The other clients are at an arbitrary point then.
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
							content := fmt.Sprintf("content %d", n)
							ids, entries := upsertsOf(n, content)
							path, body := "/api/sessions/"+session+"/transcript/upsert", entries[0]
							if n%2 == 1 {
								path, body = path+"s", programtest.Object{"entries": entries}
							}
							status, _, err := server.Try(http.MethodPost, path, body)
							mu.Lock()
							if err == nil && status == http.StatusOK {
								for _, id := range ids {
									acknowledged[id] = content
								}
								if left--; left == 0 {
									close(due)
								}
							} else {
								doubtful = append(doubtful, ids)
							}
							mu.Unlock()
							if err != nil {
								return // the server is down
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
				server.Kill()
				<-finished
				server = s.Start()
			}
			t.Logf("%d kills, %d acknowledged, %d without an answer", kills, len(acknowledged), len(doubtful))
			if kills < 2 || len(acknowledged) < 2*total {
				t.Fatalf("the test lost its point: %d kills, %d acknowledged", kills, len(acknowledged))
			}

			got := map[string]string{}
			for _, entry := range server.Transcript(session) {
				got[programtest.Text(entry, "messageId")] = programtest.Text(entry, "content")
			}
			server.Stop()
			for id, content := range acknowledged {
				if got[id] != content {
					t.Errorf("acknowledged %s is %q", id, got[id])
				}
			}
			for _, ids := range doubtful {
				stored := 0
				for _, id := range ids {
					if _, there := got[id]; there {
						stored++
					}
				}
				if stored != 0 && stored != len(ids) {
					t.Errorf("of %d upserts of one request without an answer %d are stored: %v", len(ids), stored, ids)
				}
			}
			fold := s.FoldJournal(session)
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

// upsertsOf returns the entries of the n-th request: one if n is even, some if n is odd, and for every 50th request
// more than a transaction holds.
func upsertsOf(n int, content string) (ids []string, entries []programtest.Object) {
	count := 1
	if n%2 == 1 {
		count = 2 + n%20
	}
	if n%50 == 1 {
		count = 400
	}
	for i := range count {
		ids = append(ids, fmt.Sprintf("m%d-%d", n, i))
		entries = append(entries, programtest.Object{"messageId": ids[i], "turnId": "ci", "role": "assistant", "type": "agentMessage",
			"content": content, "status": "complete"})
	}
	return ids, entries
}
