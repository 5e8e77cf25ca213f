// Package codextest gives tests the real codex, in the supported versions, and a CODEX_HOME that connects it to a
// mock model.
//
// It owns codex's configuration for tests. Package agenttest owns the location of its binaries.
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
	// Default is the codex version that the harness targets.
	Default Version = "codex"
	// Recorded is the version used for the recordings of codex-manager.
	Recorded Version = "codex-recorded"
	// Oldest is the oldest supported version.
	Oldest Version = "codex-oldest"
)

// Versions returns the versions for tests that run on several: the newest and the oldest.
func Versions() []Version { return []Version{Default, Oldest} }

//go:embed catalog.json
var catalog []byte

// Binary returns the path of the cached native codex binary. If it is missing, it fails the test with the remedy.
func Binary(t testing.TB, version Version) string {
	t.Helper()
	return agenttest.Binary(t, string(version))
}

// Number returns the version number of a pinned version, for example "0.171.0".
func Number(t testing.TB, version Version) string {
	t.Helper()
	return agenttest.Version(t, string(version))
}

// Model returns the name of the model in a codex version's configuration. The model decides which tools codex offers,
// so codex must know it.
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

// Option changes the files that Home writes.
type Option func(*home)

// For configures the home for one of the pinned versions (default: Default).
func For(version Version) Option { return func(h *home) { h.version = version } }

// Approval sets the default approval policy (default: on-request). untrusted, which requires approval of every
// command and file change, must be set on the thread instead: 0.169 refuses to start with it in its configuration.
func Approval(policy string) Option { return func(h *home) { h.approval = policy } }

// Sandbox sets the default sandbox mode (default: danger-full-access, because not every CI machine allows the real
// sandboxes).
func Sandbox(mode string) Option { return func(h *home) { h.sandbox = mode } }

// Config appends text to config.toml, for example a [section].
func Config(toml string) Option { return func(h *home) { h.config += toml + "\n" } }

// Feature enables a feature of codex.
func Feature(name string) Option { return func(h *home) { h.features += name + " = true\n" } }

// NeedsLogin makes codex require an account or a key for the model.
func NeedsLogin() Option { return func(h *home) { h.login = true } }

// folder is t.TempDir() outside of the folder for temporary files. Below that folder, codex makes no links to its
// helpers. Without them it cannot use a system bubblewrap older than 0.9.
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

// Home creates a CODEX_HOME for the mock model at modelURL, and returns its path. The end of the test removes it.
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

// quote returns a TOML basic string. For the characters in paths and URLs it equals a JSON string.
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
