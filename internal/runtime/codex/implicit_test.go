package codex_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/tests/codextest"
	"harness/tests/mcptest"
)

// The model gets the files in a conversation's folder only if the conversation's level at its start allows it. That
// also holds after codex loads it again, and in a fork. The model always gets the files in the home. RA-16
func TestCodexReadsOnlyAllowedSources(t *testing.T) {
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
		os.MkdirAll(filepath.Join(work, ".agents", "skills", "own"), 0o700),
		os.WriteFile(filepath.Join(work, ".agents", "skills", "own", "SKILL.md"),
			[]byte("---\nname: own\ndescription: mark of a skill\n---\n"), 0o600),
		os.WriteFile(filepath.Join(b.home, "AGENTS.md"), []byte("mark of the home"), 0o600)); err != nil {
		t.Fatal(err)
	}
	reads := func(thread string) string {
		t.Helper()
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_REPLY[x]"))
		requests := b.model.Requests()
		body, found := string(requests[len(requests)-1].Body), []string{}
		for _, mark := range []string{"mark of the home", "mark of the project", "mark of a skill", "mcp__tiny"} {
			if strings.Contains(body, mark) {
				found = append(found, mark)
			}
		}
		return strings.Join(found, ", ")
	}
	for choice, want := range map[string]string{"": "mark of the home, mark of the project, mark of a skill, mcp__tiny",
		runtime.ImplicitAll:  "mark of the home, mark of the project, mark of a skill, mcp__tiny",
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

// Why codex cannot be limited to no sources: even with all switches of a conversation off, its model gets the
// instructions of its home. It gets no skills, no MCP servers and no instructions of the folder. RA-16
func TestSourcesThatCodexAlwaysReads(t *testing.T) {
	t.Parallel()
	b := setupWith(t, codextest.Default, nil, codextest.Config(mcptest.Config(os.Args[0], runAsMCP)))
	for name, text := range map[string]string{"AGENTS.md": "mark of the home",
		"skills/own/SKILL.md": "---\nname: own\ndescription: mark of a skill\n---\n"} {
		path := filepath.Join(b.home, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	off := map[string]any{"project_doc_max_bytes": 0, "skills.include_instructions": false,
		"mcp_servers." + mcptest.Name + ".enabled": false}
	for want, config := range map[string]map[string]any{"mark of the home, mark of a skill, mcp__tiny": {},
		"mark of the home": off} {
		answer, err := b.codex.Call(t.Context(), "thread/start", map[string]any{"cwd": t.TempDir(),
			"approvalPolicy": "never", "sandbox": "read-only", "config": config})
		var begun struct{ Thread struct{ ID string } }
		if err = errors.Join(err, json.Unmarshal(answer, &begun)); err != nil {
			t.Fatal(err)
		}
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: begun.Thread.ID}, "MOCK_REPLY[x]"))
		requests, found := b.model.Requests(), []string{}
		for _, mark := range []string{"mark of the home", "mark of a skill", "mcp__tiny"} {
			if strings.Contains(string(requests[len(requests)-1].Body), mark) {
				found = append(found, mark)
			}
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("with %v it reads %q", config, got)
		}
	}
	if offered := b.codex.Capabilities().ImplicitSources; slices.Contains(offered, runtime.ImplicitNone) {
		t.Errorf("it is said to read %v", offered)
	}
}
