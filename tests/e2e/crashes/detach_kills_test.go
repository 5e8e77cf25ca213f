package crashes

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// The turn of the kill test: one approval, then a token every 50 ms. It does not end before the last kill, however
// long the kills take.
const (
	killTokens = 500
	killCount  = 20
)

func killMessage(file string) string {
	return fmt.Sprintf("MOCK_CMD[echo once >> %s] MOCK_SLOW[%d,50] MOCK_HOLD[end]", file, killTokens)
}

// The server is killed 20 times at random moments of one turn and restarted each time. The result shows no trace of
// this: the transcript equals that of an undisturbed run, the approval got one answer, no line was processed twice or
// lost, and the journal has no gap.
func TestTwentyKillsInOneTurnLeaveNoTrace(t *testing.T) {
	t.Parallel()
	killed := map[string]func(*testing.T) outcome{}
	for n, engine := range dbtest.Engines() {
		killed[string(engine)] = func(t *testing.T) outcome {
			return killedAtRandom(programtest.New(t, programtest.WithEngine(engine)), rand.New(rand.NewPCG(7, uint64(n))))
		}
	}
	requireNoTrace(t, func(t *testing.T) outcome { return undisturbed(programtest.New(t)) }, killed)
}

// outcome is the result of a turn: its transcript and its frames.
type outcome struct{ entries, frames []string }

// requireNoTrace runs a turn undisturbed, and disturbed in each of these ways. All results must be the same.
func requireNoTrace(t *testing.T, undisturbed func(*testing.T) outcome, disturbed map[string]func(*testing.T) outcome) {
	t.Helper()
	var (
		want outcome
		lock sync.Mutex
	)
	got := map[string]outcome{}
	t.Run("runs", func(t *testing.T) {
		t.Run("undisturbed", func(t *testing.T) {
			t.Parallel()
			want = undisturbed(t)
		})
		for name, run := range disturbed {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				one := run(t)
				lock.Lock()
				defer lock.Unlock()
				got[name] = one
			})
		}
	})
	for name, one := range got {
		if !slices.Equal(one.entries, want.entries) {
			t.Errorf("%s: the transcript is\n%s\nwant\n%s", name, strings.Join(one.entries, "\n"),
				strings.Join(want.entries, "\n"))
		}
		if !slices.Equal(one.frames, want.frames) {
			t.Errorf("%s: %d frames of the turn, want %d: %s", name, len(one.frames), len(want.frames),
				firstDifference(one.frames, want.frames))
		}
	}
}

// undisturbed runs the turn without kills and returns its transcript and its frames.
func undisturbed(s *programtest.Site) outcome {
	s.T.Helper()
	file := filepath.Join(s.Workspace, "ran.txt")
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, killMessage(file))
	s.Model.Release("end")
	server.Decide(programtest.Text(events.WaitType("approval").Decoded(), "approvalId"))
	if status := events.WaitTurn(turn); status != "completed" {
		s.T.Fatalf("the undisturbed turn ended %s", status)
	}
	entries := entryLines(s, server.Transcript(session))
	server.Stop()
	return outcome{entries, frames(s, session)}
}

func killedAtRandom(s *programtest.Site, random *rand.Rand) outcome {
	t := s.T
	t.Helper()
	file := filepath.Join(s.Workspace, "ran.txt")
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, killMessage(file))
	approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
	pid := server.RuntimePID()
	for kill := range killCount {
		// Some kills hit the wait for the approval, one hits the decision, the others hit the tokens.
		wait := time.Duration(random.IntN(500)) * time.Millisecond
		if kill == 4 {
			go func() {
				_, _, _ = server.Try(http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
			}()
			wait = time.Duration(random.IntN(30)) * time.Millisecond
		}
		<-time.After(wait)
		server.Kill()
		server = s.Start()
		if kill == 4 {
			// It is unknown whether the decision was stored. It is accepted once.
			path := "/api/approvals/" + approval + "/decision"
			server.Try(http.MethodPost, path, programtest.Object{"decision": "accept"}) //nolint:errcheck // checked by its effect
		}
	}
	s.Model.Release("end")
	server.WaitRuntime()
	if again := server.RuntimePID(); again != pid {
		t.Errorf("codex is process %d, was %d", again, pid)
	}
	late := server.Follow("after=0")
	if status := late.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	entries := entryLines(s, server.Transcript(session))
	server.Stop()
	s.RequireNoOrphans()
	if ran, err := os.ReadFile(file); err != nil || string(ran) != "once\n" {
		t.Errorf("the command ran as %q, %v", ran, err)
	}
	if outputs := s.Model.Outputs(); len(outputs) != 1 {
		t.Errorf("the model saw %d outcomes of the command: %v", len(outputs), outputs)
	}
	s.FoldJournal(session) // no gaps
	return outcome{entries, frames(s, session)}
}

// Ids, times and paths that differ between runs.
var varying = regexp.MustCompile(
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|/[^" ` +
		`]*/ran\.txt|"[A-Za-z]*(At|AtMs|Ms|processId|Path|cwd)": ?"?[^",}\n]*"?|_[0-9a-f_]+\b|[0-9]{3,}`)

func plain(text string) string { return varying.ReplaceAllString(text, "?") }

func entryLines(s *programtest.Site, entries []programtest.Object) []string {
	var out []string
	for _, e := range entries {
		content := strings.ReplaceAll(fmt.Sprint(e["content"], " | ", e["details"]), s.Workspace, "WORKSPACE")
		out = append(out, fmt.Sprint(e["role"], " ", e["type"], " ", e["status"], " ", plain(content)))
	}
	return out
}

// frames returns the frames of the session's items and turns in the journal, in order, without the varying parts. No
// frame may occur twice.
func frames(s *programtest.Site, session string) []string {
	s.T.Helper()
	log := journal.New(dbtest.Connect(s.T, s.Store()), journal.Options{})
	var frames []string
	raw := map[string]int64{}
	for after := int64(0); ; {
		records, err := log.Read(s.T.Context(), journal.Query{After: after})
		if err != nil {
			s.T.Fatal(err)
		}
		if len(records) == 0 {
			return frames
		}
		for _, r := range records {
			after = r.Pos
			var frame struct{ Method string }
			if r.SessionID != session || json.Unmarshal(r.Payload, &frame) != nil {
				continue
			}
			if !strings.HasPrefix(frame.Method, "item/") && !strings.HasPrefix(frame.Method, "turn/") {
				if strings.HasSuffix(r.Type, "resolved") {
					frames = append(frames, r.Type)
				}
				continue
			}
			if before := raw[string(r.Payload)]; before != 0 {
				s.T.Errorf("position %d has the same frame as %d: %s", r.Pos, before, r.Payload)
			}
			raw[string(r.Payload)] = r.Pos
			var delta struct {
				Params struct{ Delta string }
			}
			_ = json.Unmarshal(r.Payload, &delta)
			// Timing determines how many deltas of a text are stored together.
			if n := len(frames) - 1; n >= 0 && delta.Params.Delta != "" && strings.HasPrefix(frames[n], frame.Method+" ") {
				frames[n] += delta.Params.Delta
			} else {
				frames = append(frames, frame.Method+" "+delta.Params.Delta)
			}
		}
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("number %d is %q, want %q", i, a[i], b[i])
		}
	}
	return "one is the beginning of the other"
}
