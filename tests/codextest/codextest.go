// Package codextest gives tests the real codex, in the versions the harness is held to, and a CODEX_HOME that talks to
// a mock model.
//
// It owns how codex is configured for tests; where its binaries lie is tests/agenttest's.
package codextest

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"harness/tests/agenttest"
)

// Version names one of the codex versions pinned in scripts/agents.versions.
type Version string

// The pinned versions.
const (
	// Default is the version the harness is built for.
	Default Version = "codex"
	// Recorded is the version that the recordings of codex-manager were made with.
	Recorded Version = "codex-recorded"
	// Oldest is the oldest version the harness supports.
	Oldest Version = "codex-oldest"
)

// Versions are the versions that tests run on which run on each: the newest and the oldest.
func Versions() []Version { return []Version{Default, Oldest} }

//go:embed catalog.json
var catalog []byte

// Binary is the path of the cached native codex binary. It fails the test with the remedy when the binary is missing.
func Binary(t testing.TB, version Version) string {
	t.Helper()
	return agenttest.Binary(t, string(version))
}

// Number is the version number a pinned version stands for, for example "0.171.0".
func Number(t testing.TB, version Version) string {
	t.Helper()
	return agenttest.Version(t, string(version))
}

// Model is the name of the model a version of codex is configured with. It decides which tools codex offers, so it must
// be one it knows.
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

// Approval sets the default approval policy (default: on-request). untrusted, under which every command and
// file change asks, has to be given to the thread instead: 0.169 refuses to start with it in its
// configuration.
func Approval(policy string) Option { return func(h *home) { h.approval = policy } }

// Sandbox sets the default sandbox mode (default: danger-full-access, because not every CI machine allows the real
// ones).
func Sandbox(mode string) Option { return func(h *home) { h.sandbox = mode } }

// Config appends text to config.toml, for example a [section].
func Config(toml string) Option { return func(h *home) { h.config += toml + "\n" } }

// Feature switches a feature of codex on.
func Feature(name string) Option { return func(h *home) { h.features += name + " = true\n" } }

// NeedsLogin makes the model one that codex talks to with an account or a key only.
func NeedsLogin() Option { return func(h *home) { h.login = true } }

// folder is t.TempDir() outside of the folder for temporary files. Below that, codex makes no links to its helpers,
// without which it cannot use a bubblewrap of the system that is older than 0.9.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "codex-home-") //nolint:usetesting // a folder of t.TempDir is where it must not be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove a CODEX_HOME: %v", err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as t.TempDir, also for other users
		t.Fatal(err)
	}
	return dir
}

// Home makes a CODEX_HOME whose model is the mock model at modelURL, and returns its path. It goes away with the test.
func Home(t testing.TB, modelURL string, options ...Option) string {
	t.Helper()
	h := home{version: Default, approval: "on-request", sandbox: "danger-full-access"}
	for _, option := range options {
		option(&h)
	}
	dir := folder(t)
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
