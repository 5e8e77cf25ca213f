package codex_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/codextest"
	"harness/internal/mcptest"
	"harness/runtime"
	"harness/runtime/codex"
)

// What lies in the folder of a conversation reaches the model or does not, as it was said when the conversation began,
// also when codex has to load it again, and in a fork; what lies in the home does. RA-16
func TestWhatCodexReadsByItself(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	implicit := map[string]string{}
	b := setupWith(t, codextest.Default, func(o *codex.Options) {
		o.Implicit = func(_ context.Context, threadID string) (string, string, error) { return implicit[threadID], work, nil }
	}, codextest.Config("[projects.\""+work+"\"]\ntrust_level = \"trusted\"\n"))
	if err := errors.Join(os.Mkdir(filepath.Join(work, ".git"), 0o700),
		os.WriteFile(filepath.Join(work, "AGENTS.md"), []byte("mark of the project"), 0o600),
		os.Mkdir(filepath.Join(work, ".codex"), 0o700),
		os.WriteFile(filepath.Join(work, ".codex", "config.toml"), []byte(mcptest.Config(os.Args[0], runAsMCP)), 0o600),
		os.WriteFile(filepath.Join(b.home, "AGENTS.md"), []byte("mark of the home"), 0o600)); err != nil {
		t.Fatal(err)
	}
	reads := func(thread string) string {
		t.Helper()
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_REPLY[x]"))
		requests := b.model.Requests()
		body, found := string(requests[len(requests)-1].Body), []string{}
		for _, mark := range []string{"mark of the home", "mark of the project", "mcp__tiny"} {
			if strings.Contains(body, mark) {
				found = append(found, mark)
			}
		}
		return strings.Join(found, ", ")
	}
	for choice, want := range map[string]string{"": "mark of the home, mark of the project, mcp__tiny",
		runtime.ImplicitAll:  "mark of the home, mark of the project, mcp__tiny",
		runtime.ImplicitHome: "mark of the home"} {
		thread := b.thread(t, runtime.StartThread{Cwd: work, Implicit: choice, ApprovalPolicy: "never", Sandbox: "read-only"})
		implicit[thread] = choice
		if got := reads(thread); got != want {
			t.Errorf("%q: it reads %s", choice, got)
		}
		forked, err := b.codex.ForkThread(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		if got := reads(forked.ID); got != want {
			t.Errorf("%q: a fork reads %s", choice, got)
		}
		if err := b.codex.CloseThread(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
		if got := reads(thread); got != want {
			t.Errorf("%q: loaded again it reads %s", choice, got)
		}
		var listed []string
		found, err := b.codex.Sources("", work, choice)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found {
			if raw, err := json.Marshal(one); err != nil || strings.Contains(string(raw), "mark of") ||
				one.Scope != runtime.SourceOfSystem && len(one.SHA256) != 64 {
				t.Errorf("%s, %v", raw, err)
			}
			listed = append(listed, one.Scope+" "+filepath.Base(one.Path))
		}
		all := strings.Join(listed, ", ")
		if !strings.Contains(all, "home config.toml, home AGENTS.md") ||
			strings.Contains(all, "folder config.toml, folder AGENTS.md") != strings.Contains(want, "project") {
			t.Errorf("%q: it is said to read %s", choice, all)
		}
	}
}
