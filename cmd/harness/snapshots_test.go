package main

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/internal/dbtest"
	"harness/runtime/codex"
	"harness/runtime/process"
	"harness/transcript"
)

// Clients read snapshots at random moments, while answers stream, turns are interrupted and taken back, and server and
// codex are killed. Each applies the frames after its snapshot's position, hangs up and goes on from there, or reads
// again: all end with what a last reading says, no word missing and none twice.
func TestSnapshotsAndTheFramesAfterThemMakeTheTranscript(t *testing.T) {
	t.Parallel()
	for n, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			r := newResumeRun(t, newSite(t, withEngine(engine), withRaceDetector()))
			r.server = r.start()
			session := r.server.createSession(nil)
			path := "/api/sessions/" + session
			mirrors := make([]*mirror, 4)
			var clients sync.WaitGroup
			for c := range mirrors {
				mirrors[c] = &mirror{t: t, session: session}
				clients.Go(func() { mirrors[c].run(r.current, rand.New(rand.NewPCG(uint64(c), uint64(n)))) })
			}
			random := rand.New(rand.NewPCG(11, uint64(n)))
			pause := func() { <-time.After(time.Duration(150+random.IntN(350)) * time.Millisecond) }
			// idle waits for the end of the turn, which may come in a server started since.
			idle := func() {
				r.current().eventually("the end of the turn", func() bool {
					detail := r.current().want(http.StatusOK, http.MethodGet, path+"?limit=1", nil)
					return text(detail, "session", "state") != "running"
				})
			}
			for _, cut := range []func(){
				func() {}, // comes to its end
				func() { pause(); r.restart(true); pause() },  // goes on in another server
				func() { pause(); r.restart(false); pause() }, // the same, in order
				func() {
					pause()
					r.current().want(http.StatusOK, http.MethodPost, path+"/interrupt", object{})
				},
				func() { pause(); r.killCodex() },
			} {
				r.current().waitRuntime()
				r.current().send(session, "MOCK_SLOW[400,2]")
				cut()
				idle()
			}
			r.current().waitRuntime()
			r.current().want(http.StatusOK, http.MethodPost, path+"/rollback", object{"numTurns": 2})
			r.current().send(session, "MOCK_SLOW[50,1]")
			idle()
			end := object{"messageId": endOfSession, "turnId": "t", "role": "system", "type": "note", "content": "",
				"status": "complete"}
			r.current().want(http.StatusOK, http.MethodPost, path+"/transcript/upsert", end)
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
			r.current().stop()
		})
	}
}

// killCodex kills the runtime, not its server.
func (s *site) killCodex() {
	s.t.Helper()
	found, err := process.Marked(process.Mark(s.dataDir, codex.Name))
	if err != nil || len(found) == 0 {
		s.t.Fatalf("no runtime to kill: %v", err)
	}
	for _, pid := range found {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.t.Logf("kill %d: %v", pid, err)
		}
	}
}

// What a reader sees of an answer that is being given, and of one that was cut short: the same in both kinds of
// reading, on every codex.
func TestAnAnswerCutShortKeepsItsWords(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		for name, cut := range map[string]func(server *instance, session string) *instance{
			"interrupted": func(server *instance, session string) *instance {
				server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", object{})
				return server
			},
			"codex killed": func(server *instance, _ string) *instance { s.killCodex(); return server },
			"all killed": func(server *instance, _ string) *instance {
				server.kill()
				s.killCodex()
				return s.start()
			},
		} {
			server := s.start()
			session := server.createSession(nil)
			server.send(session, "MOCK_SLOW[6,1] MOCK_HOLD["+name+"]")
			const soFar = "word0 word1 word2 word3 word4 word5 "
			answer := func() (whole, window object) {
				found := make([]object, 2)
				for i, path := range []string{"/api/sessions/" + session, "/api/sessions/" + session + "?limit=100"} {
					for _, entry := range server.want(http.StatusOK, http.MethodGet, path, nil)["transcript"].([]any) {
						if text(entry, "type") == "agentMessage" {
							found[i] = entry.(object)
						}
					}
				}
				return found[0], found[1]
			}
			server.eventually(name+": the words so far are read", func() bool {
				whole, window := answer()
				return text(whole, "content") == soFar && text(window, "content") == soFar && whole["status"] == "streaming" &&
					window["status"] == "streaming"
			})
			server = cut(server, session)
			server.eventually(name+": the answer is canceled and keeps its words", func() bool {
				whole, window := answer()
				return text(whole, "content") == soFar && text(window, "content") == soFar && whole["status"] == "canceled" &&
					window["status"] == "canceled"
			})
			s.model.Release(name)
			server.stop()
			s.endRuntimes()
		}
	})
}
