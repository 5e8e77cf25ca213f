package clients

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/codextest"
	"harness/tests/contract"
	"harness/tests/programtest"
)

// recordedCodexConfig is the configuration of codex during the recordings. %s is the model's address.
const recordedCodexConfig = `model = "gpt-5.1"
model_provider = "mock"
approval_policy = "on-request"

[model_providers.mock]
name = "mock"
base_url = "%s"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
requires_openai_auth = false
supports_websockets = false

[features]
default_mode_request_user_input = true

[analytics]
enabled = false
`

// contractTarget is a server in the environment of the recordings.
type contractTarget struct {
	*programtest.Site
	server *programtest.Server
}

func (c *contractTarget) Address() string { return strings.TrimPrefix(c.server.URL, "http://") }

func (c *contractTarget) Restart() error {
	c.server.Stop()
	c.server = c.Start()
	c.server.WaitRuntime()
	return nil
}

// KillRuntime kills codex and waits until the supervisor has a new one, so that later steps do not depend on the time
// that takes.
func (c *contractTarget) KillRuntime() error {
	_, before := c.server.Call(http.MethodGet, "/api/health", nil)
	pid, err := strconv.Atoi(programtest.Text(before, "codex", "pid"))
	if err != nil {
		return fmt.Errorf("health names no codex: %v", before)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	c.server.Eventually("codex is back", func() bool {
		_, now := c.server.Call(http.MethodGet, "/api/health", nil)
		return programtest.Text(now, "codex", "pid") != programtest.Text(before, "codex", "pid") && programtest.Text(now, "codex", "initialized") == "true"
	})
	return nil
}

// MarkSystem writes the same mark as the orchestrator for its workers' sessions.
func (c *contractTarget) MarkSystem(sessionID string) error {
	db, err := database.Open(context.Background(), database.Options{Path: filepath.Join(c.DataDir, "harness.db")})
	if err != nil {
		return err
	}
	_, err = db.Raw().Exec(`update sessions set system_owned = 1 where id = $1`, database.EncodeText(sessionID))
	return errors.Join(err, db.Close())
}

// newContractTarget starts a server with the recorded environment and additional settings.
func newContractTarget(t *testing.T, topic contract.Topic, further ...string) (*contractTarget, []contract.Place) {
	t.Helper()
	records, err := contract.Load(topic.Name)
	if err != nil {
		t.Fatal(err)
	}
	lab, work := t.TempDir(), t.TempDir()
	places := []contract.Place{{Placeholder: "{{LAB}}", Folder: lab},
		{Placeholder: "{{HOME}}", Folder: filepath.Join(lab, "home")}}
	s := programtest.New(t, programtest.WithCodex(codextest.Recorded))
	home := ""
	for _, assignment := range s.Env {
		if value, is := strings.CutPrefix(assignment, "CODEX_HOME="); is {
			home = value
		}
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), fmt.Appendf(nil, recordedCodexConfig, s.Model.URL()),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(lab, "home/w"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "DEFAULT_SANDBOX_MODE=read-only", "OPENAI_API_KEY=recorded", "RUST_BACKTRACE=1")
	for name, value := range records[0].Env {
		for _, place := range places {
			value = strings.ReplaceAll(value, place.Placeholder, place.Folder)
		}
		s.Env = append(s.Env, name+"="+value)
	}
	s.Env = append(append(s.Env, topic.Env...), further...)
	files := map[string]string{}
	for name, content := range topic.Files {
		files[filepath.Join(s.Workspace, name)] = content
	}
	for name, content := range topic.Steps["unchanged -> reload"] {
		files[strings.ReplaceAll(name, "{{LAB}}", lab)] = content
	}
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := &contractTarget{Site: s}
	target.server = s.Start()
	target.server.WaitRuntime()
	return target, append([]contract.Place{{Placeholder: "{{WORK}}", Folder: work},
		{Placeholder: "{{ROOT}}", Folder: s.Workspace}, {Placeholder: "{{CODEX_HOME}}", Folder: home}}, places...)
}

// The contract: every recorded exchange of a codex-manager client has the same response here, except for the table of
// deliberate differences.
func TestTheRecordedContractHolds(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	lines := map[string]string{}
	// A test's cleanups run after its parallel subtests.
	t.Cleanup(func() {
		out := []string{contract.Heading()}
		for _, topic := range contract.Topics() {
			if line, ran := lines[topic.Name]; ran {
				out = append(out, line)
			}
		}
		t.Logf("\n%s", strings.Join(out, "\n"))
	})
	for _, topic := range contract.Topics() {
		t.Run(topic.Name, func(t *testing.T) {
			t.Parallel()
			target, places := newContractTarget(t, topic)
			report, err := contract.Replay(topic, target, places)
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			lines[topic.Name] = report.Line()
			mu.Unlock()
			if dir := os.Getenv("HARNESS_CONTRACT_REPORT"); dir != "" {
				text := report.Details(contract.Different) + "\n=== not served\n" + report.Details(contract.NotServed) +
					"\n=== deliberate\n" + report.Details(contract.Deliberate)
				if err := os.WriteFile(filepath.Join(dir, topic.Name+".txt"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if found := report.Details(contract.Different); found != "" {
				t.Errorf("a codex-manager client would notice:\n%s", found)
			}
		})
	}
}

// Clients of codex-manager work unchanged on loopback even without the fence around agents, once the operator
// consents.
func TestTheRecordedContractHoldsWithoutTheFence(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, topic := range contract.Topics() {
		if !slices.Contains([]string{"http-basics", "messages", "approvals", "stream"}, topic.Name) {
			continue
		}
		tried++
		t.Run(topic.Name, func(t *testing.T) {
			t.Parallel()
			target, places := newContractTarget(t, topic, "HARNESS_RUNTIME_CONFINE=off", "HARNESS_TRUST_LOCAL=true")
			report, err := contract.Replay(topic, target, places)
			if err != nil {
				t.Fatal(err)
			}
			if found := report.Details(contract.Different); found != "" {
				t.Errorf("a codex-manager client would notice:\n%s", found)
			}
		})
	}
	if tried != 4 {
		t.Errorf("%d topics were tried, want 4", tried)
	}
}
