package streams

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/tests/dbtest"
	"harness/tests/programtest"
	"harness/transcript"
)

// Clients read snapshots at random moments, while answers stream, turns are interrupted and rolled back, and the
// server and codex are killed. Each client applies the frames after its snapshot's position, disconnects and resumes
// from there, or reads again. All end with the result of a last read, without a lost or repeated delta.
func TestSnapshotsAndTheFramesAfterThemMakeTheTranscript(t *testing.T) {
	t.Parallel()
	for n, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			r := newResumeRun(t, programtest.New(t, programtest.WithEngine(engine), programtest.WithRaceDetector(database.SQLite)))
			r.server = r.Start()
			session := r.server.CreateSession(nil)
			path := "/api/sessions/" + session
			mirrors := make([]*mirror, 4)
			var clients sync.WaitGroup
			for c := range mirrors {
				mirrors[c] = &mirror{t: t, session: session}
				clients.Go(func() { mirrors[c].run(r.current, rand.New(rand.NewPCG(uint64(c), uint64(n)))) })
			}
			random := rand.New(rand.NewPCG(11, uint64(n)))
			pause := func() { <-time.After(time.Duration(150+random.IntN(350)) * time.Millisecond) }
			// idle waits for the end of the turn, which may arrive on a later server.
			idle := func() {
				r.current().Eventually("the end of the turn", func() bool {
					detail := r.current().Want(http.StatusOK, http.MethodGet, path+"?limit=1", nil)
					return programtest.Text(detail, "session", "state") != "running"
				})
			}
			for _, cut := range []func(){
				func() {}, // runs to its end
				func() { pause(); r.restart(true); pause() },  // continues on another server
				func() { pause(); r.restart(false); pause() }, // the same, after an orderly stop
				func() {
					pause()
					r.current().Want(http.StatusOK, http.MethodPost, path+"/interrupt", programtest.Object{})
				},
				func() { pause(); killCodex(r.Site) },
			} {
				r.current().WaitRuntime()
				r.current().Send(session, "MOCK_SLOW[400,2]")
				cut()
				idle()
			}
			r.current().WaitRuntime()
			r.current().Want(http.StatusOK, http.MethodPost, path+"/rollback", programtest.Object{"numTurns": 2})
			r.current().Send(session, "MOCK_SLOW[50,1]")
			idle()
			end := programtest.Object{"messageId": endOfSession, "turnId": "t", "role": "system", "type": "note", "content": "",
				"status": "complete"}
			r.current().Want(http.StatusOK, http.MethodPost, path+"/transcript/upsert", end)
			clients.Wait()

			last := &mirror{t: t, session: session}
			last.take(r.current(), false)
			want := words(last.entries)
			for c, m := range mirrors {
				if got := words(m.entries); !maps.Equal(got, want) {
					for id := range want {
						if got[id] != want[id] {
							t.Errorf("client %d, %s: %s, want %s", c, id, got[id], want[id])
						}
					}
					t.Errorf("client %d has %d entries, want %d", c, len(got), len(want))
				}
			}
			for _, entry := range last.entries {
				if entry.Role == "assistant" &&
					(entry.Status == transcript.Streaming || !strings.HasPrefix(entry.Content, "word0 ")) {
					t.Errorf("the answer of turn %s is %s: %q", entry.TurnID, entry.Status, entry.Content)
				}
			}
			r.current().Stop()
		})
	}
}

// killCodex kills the runtime, not its server.
func killCodex(s *programtest.Site) {
	s.T.Helper()
	found, err := process.Marked(process.Marker(s.DataDir, codex.Name))
	if err != nil || len(found) == 0 {
		s.T.Fatalf("no runtime to kill: %v", err)
	}
	for _, pid := range found {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.T.Logf("kill %d: %v", pid, err)
		}
	}
}

// Readers see the same text of an unfinished answer, and of one that was cut short, in both kinds of reads and on
// every codex.
func TestAnAnswerCutShortKeepsItsWords(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		for name, cut := range map[string]func(server *programtest.Server, session string) *programtest.Server{
			"interrupted": func(server *programtest.Server, session string) *programtest.Server {
				server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", programtest.Object{})
				return server
			},
			"codex killed": func(server *programtest.Server, _ string) *programtest.Server { killCodex(s); return server },
			"all killed": func(server *programtest.Server, _ string) *programtest.Server {
				server.Kill()
				killCodex(s)
				return s.Start()
			},
		} {
			server := s.Start()
			session := server.CreateSession(nil)
			server.Send(session, "MOCK_SLOW[6,1] MOCK_HOLD["+name+"]")
			const soFar = "word0 word1 word2 word3 word4 word5 "
			answer := func() (whole, window programtest.Object) {
				found := make([]programtest.Object, 2)
				for i, path := range []string{"/api/sessions/" + session, "/api/sessions/" + session + "?limit=100"} {
					for _, entry := range server.Want(http.StatusOK, http.MethodGet, path, nil)["transcript"].([]any) {
						if programtest.Text(entry, "type") == "agentMessage" {
							found[i] = entry.(programtest.Object)
						}
					}
				}
				return found[0], found[1]
			}
			server.Eventually(name+": the words so far are read", func() bool {
				whole, window := answer()
				return programtest.Text(whole, "content") == soFar && programtest.Text(window, "content") == soFar && whole["status"] == "streaming" &&
					window["status"] == "streaming"
			})
			server = cut(server, session)
			server.Eventually(name+": the answer is canceled and keeps its words", func() bool {
				whole, window := answer()
				return programtest.Text(whole, "content") == soFar && programtest.Text(window, "content") == soFar && whole["status"] == "canceled" &&
					window["status"] == "canceled"
			})
			s.Model.Release(name)
			server.Stop()
			s.EndRuntimes()
		}
	})
}
