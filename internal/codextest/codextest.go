// Package codextest gives tests the real codex: its binaries, and a CODEX_HOME that talks to a mock model.
//
// It owns where the cached binaries lie and how codex is configured for tests. It must never install anything by itself and never skip: a
// missing binary fails the test with the command that installs it.
package codextest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Version names one of the pinned codex versions of scripts/codex.versions.
type Version string

// The pinned versions.
const (
	// Default is the version the harness is built for.
	Default Version = "default"
	// Oldest is the oldest version the harness supports.
	Oldest Version = "oldest"
)

// Versions are all pinned versions, for tests that run on each of them.
func Versions() []Version { return []Version{Default, Oldest} }

//go:embed catalog.json
var catalog []byte

// Binary is the path of the cached native codex binary. It fails the test with the remedy when the binary is missing.
func Binary(t testing.TB, version Version) string {
	t.Helper()
	root := root(t)
	number := Number(t, version)
	remedy := fmt.Sprintf("install it with: %s %s", filepath.Join(root, "scripts", "codex.sh"), number)
	cache := os.Getenv("HARNESS_CACHE")
	if cache == "" {
		cache = filepath.Join(root, ".cache")
	}
	dir := filepath.Join(cache, "codex", number)
	path, err := os.ReadFile(filepath.Join(dir, "path"))
	if err != nil {
		t.Fatalf("codex %s is not in the cache (%v); %s", number, err, remedy)
	}
	binary := filepath.Join(dir, strings.TrimSpace(string(path)))
	if info, err := os.Stat(binary); err != nil || info.Mode()&0o111 == 0 {
		t.Fatalf("codex %s is broken in the cache (%s, %v); remove %s and %s", number, binary, err, dir, remedy)
	}
	return binary
}

// Number is the version number a pinned version stands for, for example "0.169.0".
func Number(t testing.TB, version Version) string {
	t.Helper()
	path := filepath.Join(root(t), "scripts", "codex.versions")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the pinned codex versions: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == string(version) {
			return fields[1]
		}
	}
	t.Fatalf("%s pins no version called %q", path, version)
	return ""
}

// Model is the name of the model a version of codex is configured with. It decides which tools codex offers, so it must be one it knows.
func Model(version Version) string {
	if version == Oldest {
		return "gpt-5.2-codex"
	}
	return "mock-model"
}

type home struct {
	version                   Version
	approval, sandbox, config string
	features                  string
	login                     bool
}

// Option changes what Home writes.
type Option func(*home)

// For configures the home for one of the pinned versions (default: Default).
func For(version Version) Option { return func(h *home) { h.version = version } }

// Approval sets the default approval policy (default: on-request). untrusted, under which every command and file change asks, has to be
// given to the thread instead: 0.169 takes it there, but refuses to start with it in its configuration.
func Approval(policy string) Option { return func(h *home) { h.approval = policy } }

// Sandbox sets the default sandbox mode (default: danger-full-access, because not every CI machine allows the real ones).
func Sandbox(mode string) Option { return func(h *home) { h.sandbox = mode } }

// Config appends text to config.toml, for example a [section].
func Config(toml string) Option { return func(h *home) { h.config += toml + "\n" } }

// Feature switches a feature of codex on.
func Feature(name string) Option { return func(h *home) { h.features += name + " = true\n" } }

// NeedsLogin makes the model one that codex talks to with an account or a key only.
func NeedsLogin() Option { return func(h *home) { h.login = true } }

// Home makes a CODEX_HOME whose model is the mock model at modelURL, and returns its path. It goes away with the test.
func Home(t testing.TB, modelURL string, options ...Option) string {
	t.Helper()
	h := home{version: Default, approval: "on-request", sandbox: "danger-full-access"}
	for _, option := range options {
		option(&h)
	}
	dir := t.TempDir()
	lines := []string{
		"model = " + quote(Model(h.version)),
		`model_provider = "mock"`,
		"approval_policy = " + quote(h.approval),
		"sandbox_mode = " + quote(h.sandbox),
		"check_for_update_on_startup = false",
	}
	if h.version == Default {
		path := filepath.Join(dir, "catalog.json")
		write(t, path, catalog)
		lines = append(lines, "model_catalog_json = "+quote(path))
	}
	lines = append(lines,
		"", "[model_providers.mock]", `name = "Mock"`, "base_url = "+quote(modelURL), `wire_api = "responses"`,
		"requires_openai_auth = "+strconv.FormatBool(h.login), "supports_websockets = false",
		"request_max_retries = 1", "stream_max_retries = 1", "stream_idle_timeout_ms = 60000",
		"", "[features]", "default_mode_request_user_input = true", h.features, h.config,
	)
	write(t, filepath.Join(dir, "config.toml"), []byte(strings.Join(lines, "\n")))
	return dir
}

// quote writes a TOML basic string; for the characters paths and URLs have it is the same as a JSON string.
func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(raw)
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatalf("write codex home: %v", err)
	}
}

// root is the repository: tests run in their package's folder, somewhere below go.mod.
func root(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatalf("find the repository: %v", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("there is no go.mod above %s; run tests from the repository", start)
		}
	}
}
