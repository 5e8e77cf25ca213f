package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/lib/trust"
	"harness/tests/programtest"
)

// evil returns code that leaves a mark when it runs.
func evil(mark string) string {
	return fmt.Sprintf(
		"import { writeFileSync } from \"node:fs\";\nwriteFileSync(%q, \"ran\");\nexport const registerAgentEvents = () => {};\n",
		mark)
}

func write(s *programtest.Site, mode os.FileMode, name, text string) string {
	s.T.Helper()
	path := filepath.Join(s.Workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		s.T.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		s.T.Fatal(err)
	}
	return path
}

// consent runs `harness trust` with arguments; it must succeed.
func consent(s *programtest.Site, args ...string) string {
	s.T.Helper()
	code, out := s.Command(append([]string{"trust"}, args...)...)
	if code != 0 {
		s.T.Fatalf("trust %v: %d %s", args, code, out)
	}
	return out
}

func requireHash(s *programtest.Site, place, out string) {
	s.T.Helper()
	hash, err := trust.HashFolder(place, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	if !strings.Contains(out, hash) || !strings.Contains(out, "harness trust "+place) {
		s.T.Errorf("%s: neither hash %s nor command in %s", place, hash, out)
	}
}

// A server started in a folder that another user wrote runs nothing from it. It runs neither the program that its .env
// names nor extensions that need a process, whether their manifest or their code requires it. A first start is no
// consent.
func TestAServerInAnUntrustedCloneRunsNothingOfIt(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	// So that only the .env names the program.
	s.Env = slices.DeleteFunc(s.Env, func(assignment string) bool { return strings.HasPrefix(assignment, "CODEX_BIN=") })
	marks := t.TempDir()
	mark := func(name string) string { return filepath.Join(marks, name) }
	requireNone := func(when string) {
		t.Helper()
		if left, err := os.ReadDir(marks); err != nil || len(left) > 0 {
			t.Errorf("%s: ran %v %v", when, left, err)
		}
	}
	program := func(name string) string { return "#!/bin/sh\necho ran > " + mark(name) + "\nexit 1\n" }
	write(s, 0o755, "evil", program("codex"))
	settings := write(s, 0o600, ".env", "HOST=0.0.0.0\nHARNESS_INSECURE_NO_AUTH=true\nCODEX_BIN=./evil\n")
	write(s, 0o600, "agents/detected/events.mjs", evil(mark("detected")))
	write(s, 0o600, "agents/named/events.mjs", evil(mark("named")))
	write(s, 0o600, "agents/named/extension.manifest.json",
		`{"name":"named","version":"1.0.0","agentId":"named","displayName":"N","runtime":{"host":"node"}}`)
	write(s, 0o755, "agents/command/run", program("command"))
	write(s, 0o600, "agents/command/extension.manifest.json",
		`{"name":"command","version":"1.0.0","agentId":"command","displayName":"C","runtime":{"host":"process","command":["./run"]}}`)
	write(s, 0o600, "agents/sandboxed/events.mjs", `export const registerAgentEvents = (r) => r.on("e", () => 1);`)

	for range 2 {
		for _, command := range [][]string{{"serve"}, {"config", "print"}, {"migrate"}, {"healthcheck"},
			{"jobs", "list", "p"}} {
			code, out := s.Command(command...)
			if code != 2 || !strings.Contains(out, "harness trust "+settings) ||
				!strings.Contains(out, trust.HashBytes([]byte("HOST=0.0.0.0\nHARNESS_INSECURE_NO_AUTH=true\nCODEX_BIN=./evil\n"))) {
				t.Errorf("%v: %d %s", command, code, out)
			}
		}
	}
	requireNone("with a .env")
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "CODEX_BIN=/nowhere/codex")
	for range 2 {
		server := s.Start("AGENT_EXTENSION_TRUST_MODE=warn")
		code, out := s.Command("extensions", "list", "--url", server.URL)
		if code != 0 || !strings.Contains(out, "sandboxed") || strings.Count(out, "trust_denied") != 3 {
			t.Errorf("list: %d %s", code, out)
		}
		for _, name := range []string{"detected", "named", "command"} {
			requireHash(s, filepath.Join(s.Workspace, "agents", name), out)
		}
		server.Stop()
	}
	requireNone("with extensions")
	if out := consent(s, "--dry-run"); strings.Count(out, "would trust sha256:") != 3 || strings.Contains(out, "sandboxed") {
		t.Errorf("dry run: %s", out)
	}
	requireNone("after looking for what to trust")
	if out := consent(s, "--list"); out != "" {
		t.Errorf("consented to %s", out)
	}
}

// The server runs files as they were when the operator consented. It uses an edit only after consent, neither at a
// reload nor at a restart before, and the earlier version continues to run. The same applies to a helper outside the
// folder, a swapped link, and a revoked consent.
func TestAnEditTakesConsentAway(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex"))
	mark := filepath.Join(t.TempDir(), "mark")
	elsewhere := t.TempDir()
	for name, text := range map[string]string{"good": "good", "bad": "bad"} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(s, 0o600, "agents/lib/shared.mjs", "export const word = \"first\";\n")
	write(s, 0o600, "agents/x/events.mjs",
		fmt.Sprintf("import { writeFileSync } from \"node:fs\";\nimport { word } from \"../lib/shared.mjs\";\n"+
			"writeFileSync(%q, word);\nexport const registerAgentEvents = (r) => r.on(\"e\", () => 1);\n", mark))
	link := filepath.Join(s.Workspace, "agents", "x", "data")
	if err := os.Symlink(filepath.Join(elsewhere, "good"), link); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(s.Workspace, "agents", "x")
	ran := func() string {
		t.Helper()
		text, err := os.ReadFile(mark)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if out := consent(s, folder); !strings.Contains(out, "trusted sha256:") {
		t.Errorf("trust: %s", out)
	}
	server := s.Start()
	if ran() != "first" {
		t.Errorf("ran %q", ran())
	}
	before := programtest.Text(server.Want(http.StatusOK, http.MethodGet, "/api/agents/extensions", nil), "snapshotVersion")
	refused := func(what string) {
		t.Helper()
		answer := server.Want(http.StatusBadRequest, http.MethodPost, "/api/agents/extensions/reload", nil)
		problem := fmt.Sprint(answer["errors"])
		if programtest.Text(answer, "code") != "reload_failed" || programtest.Text(answer, "snapshotVersion") != before ||
			!strings.Contains(problem, "trust_denied") ||
			!strings.Contains(problem, "sha256:") || !strings.Contains(problem, "harness trust "+folder) {
			t.Errorf("%s: %v", what, answer)
		}
		if listing := server.Want(http.StatusOK, http.MethodGet, "/api/agents/extensions", nil); len(
			listing["modules"].([]any)) != 1 {
			t.Errorf("%s: what ran is gone: %v", what, listing)
		}
		if code, out := s.Command("extensions", "list", "--url", server.URL); code != 0 ||
			!strings.Contains(out, "not trusted  x: trust_denied") {
			t.Errorf("%s: %d %s", what, code, out)
		}
		if ran() != "first" {
			t.Errorf("%s: ran %q", what, ran())
		}
	}
	write(s, 0o600, "agents/lib/shared.mjs", "export const word = \"second\";\n")
	refused("an edited helper")
	write(s, 0o600, "agents/lib/shared.mjs", "export const word = \"first\";\n")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "bad"), link); err != nil {
		t.Fatal(err)
	}
	refused("a swapped link")
	write(s, 0o600, "agents/lib/shared.mjs", "export const word = \"second\";\n")
	server.Stop()
	server = s.Start()
	if listing := server.Want(http.StatusOK, http.MethodGet, "/api/agents/extensions", nil); len(
		listing["modules"].([]any)) != 0 || ran() != "first" {
		t.Errorf("after a restart: %v, ran %q", listing, ran())
	}
	consent(s)
	server.Want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	if ran() != "second" {
		t.Errorf("after a second consent: ran %q", ran())
	}
	before = programtest.Text(server.Want(http.StatusOK, http.MethodGet, "/api/agents/extensions", nil), "snapshotVersion")
	if err := os.WriteFile(mark, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	consent(s, "--revoke", folder)
	refused("a consent taken back")
}

// --trust consents to the files present at startup, for this run only.
func TestTrustForOneRun(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex"))
	mark := filepath.Join(t.TempDir(), "mark")
	write(s, 0o600, ".env", "HARNESS_ALLOWED_HOSTS=seen.example\n")
	write(s, 0o600, "agents/x/events.mjs", evil(mark))
	server := s.Start("HARNESS_TRUST=true")
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
	server.Want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	write(s, 0o600, "agents/x/more.mjs", "export {};\n")
	server.Want(http.StatusBadRequest, http.MethodPost, "/api/agents/extensions/reload", nil)
	server.Stop()
	if code, out := s.Command("serve"); code != 2 || !strings.Contains(out, "harness trust ") {
		t.Errorf("the next run: %d %s", code, out)
	}
	if code, out := s.Command("config", "print", "--trust"); code != 0 || !strings.Contains(out, "seen.example") {
		t.Errorf("--trust: %d %s", code, out)
	}
	consent(s, ".env")
	if code, out := s.Command("config", "print"); code != 0 || !strings.Contains(out, "seen.example") {
		t.Errorf("after consent: %d %s", code, out)
	}
	write(s, 0o600, ".env", "HARNESS_ALLOWED_HOSTS=seen.example\nHARNESS_TRUST=true\n")
	if code, out := s.Command("config", "print"); code != 2 || !strings.Contains(out, "HARNESS_TRUST") {
		t.Errorf("a file that consents to itself: %d %s", code, out)
	}
}

// A file that is neither a .env nor an extension is refused as a mistake; files with consent are listed.
func TestTrustReportsMistakes(t *testing.T) {
	t.Parallel()
	s := &programtest.Site{T: t, Workspace: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"),
		"HOME=" + t.TempDir()}}
	other := write(s, 0o600, "notes.txt", "x")
	for _, args := range [][]string{{other}, {filepath.Join(s.Workspace, "missing")}, {t.TempDir()}} {
		if code, out := s.Command("trust", args[0]); code != 2 || strings.Count(out, "\n") != 1 {
			t.Errorf("trust %v: %d %s", args, code, out)
		}
	}
	if code, out := s.Command("trust", "--revoke", other); code != 1 || !strings.Contains(out, "was not consented to") {
		t.Errorf("revoke: %d %s", code, out)
	}
	write(s, 0o600, ".env", "HARNESS_CONFIG=c.yaml\n")
	named := write(s, 0o600, "c.yaml", "port: 4000\n")
	consent(s, ".env")
	if code, out := s.Command("config", "print"); code != 2 || !strings.Contains(out, "harness trust "+named) {
		t.Errorf("a config file named by a .env: %d %s", code, out)
	}
	consent(s)
	if code, out := s.Command("config", "print"); code != 0 || !strings.Contains(out, "PORT=4000") {
		t.Errorf("after consent: %d %s", code, out)
	}
	path := write(s, 0o600, ".env", "UNRELATED=1\n")
	if code, out := s.Command("config", "print"); code != 0 {
		t.Errorf("a .env of others: %d %s", code, out)
	}
	consent(s, path)
	if out := consent(s, "--list"); !strings.Contains(out, trust.HashBytes([]byte("UNRELATED=1\n"))+"  "+path) {
		t.Errorf("list: %s", out)
	}
}
