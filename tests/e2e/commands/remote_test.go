package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// terminal runs commands against one server, like a user.
type terminal struct {
	*programtest.Server
	t   *testing.T
	env []string
}

// on returns the same user in a subtest.
func (u *terminal) on(t *testing.T) *terminal { return &terminal{u.Server, t, slices.Clone(u.env)} }

// run runs a command and returns its exit code and its output.
func (u *terminal) run(stdin string, args ...string) (code int, stdout, stderr string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, programtest.Program(u.t), args...)
	cmd.Env, cmd.Dir, cmd.Stdin = append(append([]string{}, u.Env...), u.env...), u.Workspace, strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
}

// must is run for a command that must succeed. It returns the output without the final newline.
func (u *terminal) must(args ...string) string {
	u.t.Helper()
	code, stdout, stderr := u.run("", args...)
	if code != 0 {
		u.t.Fatalf("harness %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return strings.TrimSuffix(stdout, "\n")
}

// TestTheCommandLineWorksOnAServer uses the program like its users: every group of commands against a real server
// with the real codex.
func TestTheCommandLineWorksOnAServer(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-this-very-test"
	server := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+token)).Start()
	server.T = t
	server.Eventually("it is ready for work", func() bool {
		status, _ := server.Ask(http.MethodGet, "/readyz", nil)
		return status == http.StatusOK
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Users do not know the server's settings, so the token comes only from the file.
	u := &terminal{server, t, []string{"HARNESS_URL=" + server.URL, "HARNESS_AUTH_TOKEN=", "HARNESS_TOKEN_FILE=" + file}}
	session := ""

	t.Run("run", func(t *testing.T) {
		if got := u.must("run", "--quiet", "MOCK_REPLY[done and dusted]"); got != "done and dusted" {
			t.Errorf("it printed %q", got)
		}
		var result struct{ SessionID, TurnID, Status, Text string }
		if err := json.Unmarshal([]byte(u.must("run", "-o", "json", "MOCK_REPLY[again]")), &result); err != nil {
			t.Fatal(err)
		}
		if result.Status != "completed" || result.Text != "again" || result.TurnID == "" {
			t.Errorf("the result is %+v", result)
		}
		session = result.SessionID
		last := ""
		for line := range strings.Lines(u.must("run", "--session", session, "-o", "jsonl", "MOCK_REPLY[once more]")) {
			var frame struct {
				Type    string
				Payload struct{ Method string }
			}
			if err := json.Unmarshal([]byte(line), &frame); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			last = frame.Type + " " + frame.Payload.Method
		}
		if last != "notification turn/completed" {
			t.Errorf("the last frame is %s", last)
		}
		code, _, stderr := u.run("", "run", "--approval-policy", "never", "MOCK_CMD[echo words > written.txt; exit 3]")
		if code != 0 || !strings.Contains(stderr, "sandbox workspace-write") || !strings.Contains(stderr, "1 of its commands failed") ||
			!strings.Contains(stderr, "(exit code 3)") {
			t.Errorf("a command that failed: exit code %d, %s", code, stderr)
		}
		if _, err := os.Stat(filepath.Join(u.Workspace, "written.txt")); err != nil {
			t.Errorf("it may not write into its folder: %v", err)
		}
		if code, _, stderr := u.run("", "run", "MOCK_HTTP_400"); code != 3 || !strings.Contains(stderr, "the turn failed") {
			t.Errorf("a failed turn: exit code %d, %s", code, stderr)
		}
	})
	t.Run("approvals", func(t *testing.T) {
		for decision, exists := range map[string]bool{"accept": true, "decline": false} {
			made := filepath.Join(t.TempDir(), "made")
			u.must("run", "--approval-policy", "untrusted", "--approve", decision, "MOCK_CMD[touch "+made+"]")
			if _, err := os.Stat(made); (err == nil) != exists {
				t.Errorf("with --approve %s: %v", decision, err)
			}
		}
		made := filepath.Join(t.TempDir(), "made")
		asking := programtest.Text(decoded(t, u.must("api", "POST", "/api/sessions", "-d", `{"approvalPolicy":"untrusted"}`)), "session", "sessionId")
		u.must("sessions", "send", asking, "MOCK_CMD[touch "+made+"]")
		id := ""
		server.Eventually("an approval waits", func() bool {
			id = u.must("approvals", "list", "--quiet")
			return id != ""
		})
		if got := u.must("approvals", "accept", id, "-m", "go ahead"); got != id {
			t.Errorf("accepted %q, want %q", got, id)
		}
		server.Eventually("the command ran", func() bool { _, err := os.Stat(made); return err == nil })
		if code, _, stderr := u.run("", "approvals", "decline", id); code != 1 || !strings.Contains(stderr, "already_resolved") {
			t.Errorf("a second decision: exit code %d, %s", code, stderr)
		}
	})
	t.Run("transcript", func(t *testing.T) {
		const entry = `{"messageId":"ci-%","turnId":"ci","role":"system","type":"ci.result","content":"build %","status":"complete"}` + "\n"
		code, stdout, stderr := u.run(strings.ReplaceAll(entry, "%", "1")+strings.ReplaceAll(entry, "%", "2"), "transcript", "upsert", session)
		if code != 0 || stdout != "2 entries written\n" {
			t.Fatalf("upsert: exit code %d, %s%s", code, stdout, stderr)
		}
		if got := u.must("sessions", "export", session); !strings.Contains(got, "## system (ci.result)\n\nbuild 2") {
			t.Errorf("exported %s", got)
		}
		if code, _, stderr := u.run(strings.ReplaceAll(entry, "%", "3")+"[1]", "transcript", "upsert", session); code != 2 ||
			!strings.Contains(stderr, "entry 2") || !strings.Contains(stderr, "nothing was written") {
			t.Errorf("a bad entry: exit code %d, %s", code, stderr)
		}
		if strings.Contains(u.must("sessions", "export", session, "-o", "jsonl"), "build 3") {
			t.Error("the entry before the bad one was written")
		}
	})
	t.Run("sessions", func(t *testing.T) {
		if got := u.must("sessions", "list"); !strings.HasPrefix(got, "SESSION ") || !strings.Contains(got, "\n"+session+" ") {
			t.Errorf("listed %s", got)
		}
		if got := u.must("sessions", "show", session); !strings.Contains(got, "user: MOCK_REPLY[again]") ||
			!strings.Contains(got, "assistant: again") || strings.Contains(got, "\x1b") {
			t.Errorf("shown %s", got)
		}
		forked := u.must("sessions", "fork", session)
		u.must("sessions", "archive", session)
		if got := u.must("sessions", "list", "-q", "--archived"); got != session {
			t.Errorf("archived are %q", got)
		}
		u.must("sessions", "unarchive", session)
		if code, _, stderr := u.run("", "sessions", "delete", forked); code != 2 || !strings.Contains(stderr, "--yes") {
			t.Errorf("delete unasked: exit code %d, %s", code, stderr)
		}
		u.must("sessions", "delete", forked, "--yes")
		if code, _, stderr := u.run("", "sessions", "show", forked); code != 1 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("show what is deleted: exit code %d, %s", code, stderr)
		}
		if got := u.must("__complete", "sessions", "show", ""); !strings.HasPrefix(got, session+"\t") && !strings.Contains(got, "\n"+session+"\t") {
			t.Errorf("offered %s", got)
		}
	})
	t.Run("lists", func(t *testing.T) {
		project := u.must("projects", "create", "web")
		u.must("projects", "assign", session, project)
		if got := u.must("projects", "list"); !strings.Contains(got, project+"  web") {
			t.Errorf("projects %s", got)
		}
		u.must("projects", "assign", session)
		u.must("projects", "delete", project)
		u.must("settings", "set", session, "theme", "dark")
		if got := u.must("settings", "get", session, "theme"); got != `"dark"` {
			t.Errorf("the setting is %s", got)
		}
		u.must("settings", "unset", session, "theme")
		if code, _, stderr := u.run("", "settings", "get", session, "theme"); code != 1 || !strings.Contains(stderr, "no setting theme") {
			t.Errorf("a setting that is gone: exit code %d, %s", code, stderr)
		}
		u.must("settings", "set", session, "tone", "dry", "--defaults")
		if got := u.must("settings", "get", "tone", "--defaults"); got != `"dry"` {
			t.Errorf("what new sessions start with is %s", got)
		}
		if got := u.must("models"); !strings.HasPrefix(got, "MODEL ") || !strings.Contains(got, "default") {
			t.Errorf("models %s", got)
		}
		if got := u.must("runtimes", "status"); !strings.Contains(got, "\ncodex ") || !strings.Contains(got, "ready") {
			t.Errorf("runtimes %s", got)
		}
	})
	t.Run("jobs and extensions", func(t *testing.T) {
		for _, args := range [][]string{{"jobs", "list", "session:" + session}, {"extensions", "list"}} {
			if got := u.must(args...); !strings.Contains(got, "NAME") && !strings.Contains(got, "TYPE") {
				t.Errorf("%v: %s", args, got)
			}
			// The token in this machine's configuration is only for servers of this machine. A named token takes precedence.
			other := &terminal{server, t, append(slices.Clone(u.env), "HARNESS_TOKEN_FILE=", "HARNESS_AUTH_TOKEN="+token)}
			other.must(args...)
			other.env = append(other.env, "HARNESS_TOKEN=nonsense")
			if code, _, stderr := other.run("", args...); code != 1 || !strings.Contains(stderr, "401") {
				t.Errorf("%v with a wrong token: exit code %d, %s", args, code, stderr)
			}
			other.env = append(other.env, "HARNESS_TOKEN=", "HARNESS_URL=http://127.0.0.1:1")
			if code, _, stderr := other.run("", args...); code != 1 || !strings.Contains(stderr, "no server answers at http://127.0.0.1:1 ") {
				t.Errorf("%v elsewhere: exit code %d, %s", args, code, stderr)
			}
			other.must(append(args, "--url", server.URL+"/")...)
		}
		if code, _, stderr := u.run("", "extensions", "list", "--port", "1"); code != 1 || !strings.Contains(stderr, "127.0.0.1:1 ") {
			t.Errorf("--port beside HARNESS_URL: exit code %d, %s", code, stderr)
		}
	})
	t.Run("at a terminal", func(t *testing.T) { atATerminal(t, u) })
	t.Run("refusals", func(t *testing.T) {
		open := filepath.Join(t.TempDir(), "open")
		if err := os.WriteFile(open, []byte(token), 0o644); err != nil { //nolint:gosec // what is refused
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			env, args []string
			code      int
			says      string
		}{
			"without the token": {[]string{"HARNESS_TOKEN_FILE="}, []string{"sessions", "list"}, 1, "HARNESS_TOKEN"},
			"with a wrong one":  {[]string{"HARNESS_TOKEN=nonsense"}, []string{"run", "hello"}, 1, "HARNESS_TOKEN"},
			"a file for all":    {nil, []string{"sessions", "list", "--token-file", open}, 2, "chmod 600"},
			"no server":         {[]string{"HARNESS_URL=http://127.0.0.1:1"}, []string{"projects", "list"}, 1, "no server answers"},
			"no URL":            {nil, []string{"projects", "list", "--url", "nonsense"}, 2, "http://127.0.0.1:3001"},
			"no such format":    {nil, []string{"projects", "list", "-o", "xml"}, 2, "json or jsonl"},
			"no session":        {nil, []string{"sessions", "show", "unknown"}, 1, "not_found"},
			"no argument":       {nil, []string{"sessions", "show"}, 2, "harness sessions show SESSION"},
			"two folders":       {nil, []string{"run", "--session", session, "--cwd", "/", "hello"}, 2, "--cwd"},
			"no such folder":    {nil, []string{"run", "--cwd", "/no/such", "hello"}, 1, "folder_missing"},
			"a file as folder":  {nil, []string{"run", "--cwd", open, "hello"}, 1, "invalid_cwd"},
			"an empty prompt":   {nil, []string{"run", " "}, 2, "empty"},
			"a bad request":     {nil, []string{"api", "/api/nonsense"}, 1, "404"},
		} {
			other := &terminal{server, t, append(append([]string{}, u.env...), c.env...)}
			code, _, stderr := other.run("", c.args...)
			if code != c.code || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s: exit code %d (want %d), %q does not say %s in one line", name, code, c.code, stderr, c.says)
			}
		}
	})
}

// decoded is a JSON object.
func decoded(t *testing.T, raw string) programtest.Object {
	t.Helper()
	var value programtest.Object
	if err := json.Unmarshal([]byte(raw), &value); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return value
}
