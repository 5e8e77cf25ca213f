package frontends

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/codextest"
	"harness/tests/mockmodel"
	"harness/tests/programtest"
)

// withEveryRuntime makes a site with the real agents of four makers, each with the scripted model.
func withEveryRuntime(t *testing.T) *programtest.Site {
	t.Helper()
	s := programtest.WithOpenCode(t)
	s.Env = append(s.Env, "HARNESS_RUNTIMES=codex,claude,gemini,opencode", "CLAUDE_BIN="+agenttest.Binary(t, "claude"),
		"ANTHROPIC_API_KEY="+programtest.ClaudeKey, "ANTHROPIC_BASE_URL="+s.Model.Root(), "GEMINI_BIN="+agenttest.Binary(t, "gemini"),
		"GEMINI_API_KEY=planted-gemini-key", "GOOGLE_GEMINI_BASE_URL="+s.Model.Root())
	return s
}

// bench is a server of every runtime that front ends find again after a restart.
type bench struct {
	*programtest.Server
	s    *programtest.Site
	port string
	// relay is between the front ends and the server, or nil.
	relay *relay
}

func startBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{s: withEveryRuntime(t), port: freePort(t)}
	b.restart()
	t.Cleanup(func() { b.Stop() })
	return b
}

func (b *bench) restart() {
	b.Server = b.s.Start("PORT="+b.port, "HARNESS_TRUST_LOCAL=true")
}

// writes reports whether a text of a runtime grows in any of its sessions.
func (b *bench) writes(runtime string) bool {
	for _, one := range programtest.List(b.s.T, b.Server, "/api/sessions") {
		if programtest.Text(one, "runtime") != runtime {
			continue
		}
		for _, entry := range b.Entries(programtest.Text(one, "sessionId"), "agentMessage") {
			if programtest.Text(entry, "status") == "streaming" {
				return true
			}
		}
	}
	return false
}

// idle reports whether no turn runs in any session of a runtime.
func (b *bench) idle(runtime string) bool {
	for _, one := range programtest.List(b.s.T, b.Server, "/api/sessions") {
		if programtest.Text(one, "runtime") == runtime && programtest.Text(one, "activeTurnId") != "" {
			return false
		}
	}
	return true
}

func (b *bench) open(t *testing.T, flags ...string) *tui {
	t.Helper()
	s, port := *b.s, b.port
	s.T = t
	if b.relay != nil {
		port = b.relay.port()
	}
	return openTUI(&s, codextest.Default, "ws://127.0.0.1:"+port, flags...)
}

// FE-84: codex's TUI works on a new session of every runtime: a command is approved, a file change is declined, a
// question is answered, a message during a turn is carried out once, with Esc at once, and /compact leaves it running.
// FE-89: it resumes a session of 500 entries and pages back to the first.
func TestTheTUIDecidesOnEveryRuntime(t *testing.T) {
	t.Parallel()
	b := startBench(t)
	for _, runtime := range []string{"codex", "claude", "gemini", "opencode"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			u := b.open(t, "-m", runtime, "-s", "danger-full-access")
			u.await("Ask Codex")
			ran, made := filepath.Join(b.s.Workspace, runtime+"-ran"), filepath.Join(b.s.Workspace, runtime+"-made")
			u.say("MOCK_CMD[echo once >> " + ran + "]")
			u.answer("Would you like to run", "y")
			u.await("• Tool said")
			if text, err := os.ReadFile(ran); err != nil || string(text) != "once\n" {
				t.Errorf("the command wrote %q, %v", text, err)
			}
			if runtime != "gemini" { // its questions stay in its own terminal
				u.say("MOCK_ASK")
				u.answer("enter to submit", "Enter")
				u.await("Tool said: ")
			}
			u.say("MOCK_HOLD[" + runtime + "]")
			if err := b.s.Model.WaitHeld(t.Context(), runtime); err != nil {
				t.Fatal(err)
			}
			steered := filepath.Join(b.s.Workspace, runtime+"-steered")
			u.say("steer " + runtime + ": MOCK_CMD[echo once >> " + steered + "]")
			if runtime == "gemini" { // it cannot be steered: the message is queued
				u.press("Escape")
			} else {
				b.s.Model.Release(runtime)
			}
			u.answer("Would you like to run", "y")
			b.Eventually("the steered message is carried out", func() bool { _, err := os.Stat(steered); return err == nil })
			u.say("MOCK_REPLY[last of " + runtime + "]")
			u.await("• last of " + runtime)
			if text, err := os.ReadFile(steered); err != nil || string(text) != "once\n" {
				t.Errorf("the steered command wrote %q, %v", text, err)
			}
			// Esc before the model reads a steered message: it is carried out now.
			u.say("MOCK_HOLD[" + runtime + " again]")
			if err := b.s.Model.WaitHeld(t.Context(), runtime+" again"); err != nil {
				t.Fatal(err)
			}
			// Text that begins after the message would be its answer.
			b.Eventually("the text before the message shows", func() bool { return b.writes(runtime) })
			escaped := filepath.Join(b.s.Workspace, runtime+"-escaped")
			u.say("escape " + runtime + ": MOCK_CMD[echo once >> " + escaped + "]")
			u.press("Escape")
			u.answer("Would you like to run", "y")
			b.Eventually("the message is carried out", func() bool { _, err := os.Stat(escaped); return err == nil })
			u.say("MOCK_REPLY[really last of " + runtime + "]")
			u.await("• really last of " + runtime)
			if text, err := os.ReadFile(escaped); err != nil || string(text) != "once\n" {
				t.Errorf("the command of the message before Esc wrote %q, %v", text, err)
			}
			b.Eventually("the last turn ended", func() bool { return b.idle(runtime) }) // the TUI hides its spinner beside a text
			u.gone("esc to interrupt")
			u.enter("/compact", func(screen string) bool {
				return strings.Contains(screen, "Context compacted") || strings.Contains(screen, "compacts by itself")
			})
			u.gone("esc to interrupt")
			u.say("MOCK_REPLY[behind the compaction]")
			u.await("• behind the compaction")
			u.say("MOCK_PATCH[" + made + "]")
			u.answer("Would you like to make", "Escape")
			u.await("Ask Codex")
			if _, err := os.Stat(made); err == nil {
				t.Error("a declined file was written")
			}
			b.Eventually("the turn of the declined file ended", func() bool { return b.idle(runtime) })
			u.end()
			b.resumesALongSession(t, runtime)
		})
	}
}

// FE-85: a level that a runtime does not enforce is refused with the flags that work, and a runtime that cannot compact,
// review or fork says so; the TUI goes on.
func TestTheTUISaysWhatARuntimeCannot(t *testing.T) {
	t.Parallel()
	b := startBench(t)
	refused := b.open(t, "-m", "gemini", "-s", "read-only")
	refused.await("start with -s danger-full-access")
	u := b.open(t, "-m", "gemini", "-s", "danger-full-access")
	u.await("Ask Codex")
	u.say("MOCK_REPLY[first answer]")
	u.await("• first answer")
	u.enter("/compact", func(screen string) bool { return strings.Contains(screen, "compacts by itself") })
	u.enter("/review the change", func(screen string) bool { return strings.Contains(screen, "gemini runtime cannot") })
	u.say("MOCK_REPLY[still here]")
	u.await("• still here")
	u.enter("/fork", func(screen string) bool { return strings.Contains(screen, "cannot do this: fork") })
	u.say("MOCK_REPLY[even now]")
	u.await("• even now")
}

// FE-88: a picture that codex's TUI attaches reaches the agent.
func TestTheTUIAttachesPictures(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	b := &bench{s: s, port: freePort(t)}
	b.restart()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Workspace, "picture.png")
	if err := os.WriteFile(path, picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	u := b.open(t, "-m", "claude", "-s", "danger-full-access", "-i", path, "--", "MOCK_REPLY[seen it]")
	u.await("• Mock answer")
	if !slices.ContainsFunc(s.Model.Requests(), func(r mockmodel.Request) bool {
		return strings.Contains(string(r.Body), "MOCK_REPLY[seen it]") && strings.Contains(string(r.Body), `"type":"image"`)
	}) {
		t.Error("the agent got no picture")
	}
	b.Stop()
}
