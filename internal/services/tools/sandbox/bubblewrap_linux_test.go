package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/services/tools"
	"harness/internal/services/tools/sandbox"
	"harness/tests/agenttest"
)

// site is a workspace next to a secret, with a sandbox around it.
type site struct {
	t               *testing.T
	box             tools.Sandbox
	folder, outside string
	limits          tools.Limits
	stdout          bytes.Buffer
}

func newSite(t *testing.T) *site {
	t.Helper()
	return siteOf(t, sandbox.NewBubblewrap(bubblewrap(t), program(t)...))
}

func siteOf(t *testing.T, box tools.Sandbox) *site {
	t.Helper()
	above := t.TempDir()
	s := &site{t: t, box: box, folder: filepath.Join(above, "workspace"),
		outside: filepath.Join(above, "secret"), limits: tools.Limits{Processes: 64, MemoryBytes: 512 << 20, CPUSeconds: 20}}
	if err := errors.Join(os.Mkdir(s.folder, 0o755), os.WriteFile(s.outside, []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := s.box.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a tool in the sandbox, bounded by a context.
func (s *site) run(ctx context.Context, name string, input string) (map[string]any, error) {
	s.t.Helper()
	config, err := json.Marshal(map[string]any{"allowed": programs()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.stdout.Reset()
	out, err := s.box.Run(ctx, tools.Tool{}, tools.Job{Tool: name, Input: json.RawMessage(input), Config: config,
		Workspace: s.folder, Stdout: &s.stdout, Stderr: &s.stdout}, s.limits)
	var answer map[string]any
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	return answer, err
}

func (s *site) shell(ctx context.Context, script string) (map[string]any, error) {
	s.t.Helper()
	input, err := json.Marshal(map[string]any{"command": []string{"sh", "-c", script}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.run(ctx, "workspace.exec", string(input))
}

// A run can change its workspace except files that people's programs execute: those are read-only, by whatever name.
func TestASandboxDoesNotChangeVersionControl(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{".git/config", ".hg/hgrc", ".envrc", "sub/.git/config", "apart/HEAD", "apart/objects/x",
		"apart/refs/x", "apart/config", "plain/a"} {
		at := filepath.Join(s.folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("kept"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".git", filepath.Join(s.folder, "g")); err != nil {
		t.Fatal(err)
	}
	out, err := s.shell(t.Context(), `for f in .git/config g/config .git/hooks-of-mine .hg/hgrc .envrc sub/.git/config apart/config \
		apart/new plain/a new; do (echo owned > $f) 2>/dev/null && echo $f; done; mv sub moved && echo owned > moved/.git/config
		exit 0`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(out["stdout"]), "plain/a\nnew\n"; got != want {
		t.Errorf("changed were %q, want %q", got, want)
	}
	for _, name := range []string{".git/config", ".hg/hgrc", ".envrc", "moved/.git/config", "apart/config"} {
		if content, err := os.ReadFile(filepath.Join(s.folder, name)); err != nil || string(content) != "kept" {
			t.Errorf("%s has %q (%v)", name, content, err)
		}
	}
}

// Child processes of a run cannot report in the name of the program that runs it, even with its descriptors from /proc.
func TestASandboxedProgramCannotForgeItsResult(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	out, err := s.shell(t.Context(), `for f in /proc/[0-9]*/fd/1; do
		echo '{"output":{"exit_code":0,"stdout":"forged","stderr":"","truncated":false}}' > $f
		echo '{"error":"forged"}' > $f; echo '{"ready":true}' > $f; done 2>/dev/null
		cat /proc/[0-9]*/environ /proc/[0-9]*/maps > /dev/null 2>&1; exit 3`)
	if err != nil || out["exit_code"] != float64(3) || out["stdout"] == "forged" {
		t.Errorf("the run said %v, %v", out, err)
	}
}

// A run cannot create a file that runs as its owner, who is root if the server is.
func TestASandboxLeavesNoSetIDFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	out, err := s.shell(t.Context(), `cp /bin/cat a; cp /bin/cat b; chmod 4755 a; chmod g+s a; chmod u+s b
		cp /bin/cat c && chmod 0700 c && chmod 0644 a; install -m 6755 /bin/cat d; mknod -m 4777 e p; exit 0`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		info, err := os.Stat(filepath.Join(s.folder, name))
		if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has the mode %s", name, info.Mode())
		}
	}
	if info, err := os.Stat(filepath.Join(s.folder, "c")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a usual mode was refused: %v %v (%v)", info, err, out)
	}
	_, err = s.run(t.Context(), "test.attack", `{"setID":"f"}`)
	if _, there := os.Stat(filepath.Join(s.folder, "f")); err == nil || there == nil {
		t.Errorf("a file was made as one that runs as its owner: %v", err)
	}
}

// TL-12, TL-16, TL-18: a sandboxed run has its workspace, and neither other files, the environment, the network nor
// processes of the machine.
func TestASandboxSeesItsWorkspaceOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	s.seesItsWorkspaceOnly(listener)
	s.limits.Network = true
	if out, err := s.run(t.Context(), "test.attack", fmt.Sprintf(`{"dial":%q}`, listener.Addr())); err != nil {
		t.Errorf("with a network: %v, %v", out, err)
	}
}

func (s *site) seesItsWorkspaceOnly(listener net.Listener) {
	s.t.Helper()
	t := s.t
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, input := range map[string]string{
		"this machine's network": fmt.Sprintf(`{"dial":%q}`, listener.Addr()),
		"a file beside it":       fmt.Sprintf(`{"read":%q}`, s.outside),
		"by the folder above":    `{"read":"/workspace/../secret"}`,
		"passwords":              `{"read":"/etc/shadow"}`,
		"another process":        fmt.Sprintf(`{"read":"/proc/%d/environ"}`, os.Getpid()),
		"the system":             `{"write":"/usr/bin/owned"}`,
		"the root":               `{"write":"/owned"}`,
		"this program":           `{"write":"/run/harness-tool"}`,
		"by its own path":        fmt.Sprintf(`{"write":%q}`, own),
		"a device":               `{"read":"/dev/mem"}`,
	} {
		if out, err := s.run(t.Context(), "test.attack", input); err == nil {
			t.Errorf("%s: it answered %v", name, out)
		}
	}
	if out, err := s.run(t.Context(), "test.attack", `{"write":"/workspace/made"}`); err != nil {
		t.Errorf("in the workspace: %v, %v", out, err)
	}
	if content, err := os.ReadFile(filepath.Join(s.folder, "made")); err != nil || string(content) != "owned" {
		t.Errorf("the workspace has %q (%v)", content, err)
	}
	folder, err := filepath.EvalSymlinks(s.folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(folder, ".data"), 0o755),
		os.WriteFile(filepath.Join(folder, ".data", "db"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(folder, ".env"), []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.limits.Hidden = []string{filepath.Join(folder, ".data"), filepath.Join(folder, ".env"), s.outside,
		filepath.Join(folder, "none")}
	for _, name := range []string{".data/db", ".env"} {
		if out, err := s.run(t.Context(), "test.attack", `{"read":"/workspace/`+name+`"}`); strings.Contains(
			fmt.Sprint(out, err), "secret") {
			t.Errorf("%s is not hidden: %v", name, out)
		}
	}
	out, err := s.run(t.Context(), "test.attack", `{}`)
	if got := fmt.Sprint(out); err != nil || strings.Contains(got, "HARNESS") || len(strings.Fields(got)) > 8 {
		t.Errorf("its environment is %v (%v)", out, err)
	}
	s.limits.ReadOnly = true
	if out, err := s.run(t.Context(), "test.attack", `{"write":"/workspace/more"}`); err == nil {
		t.Errorf("read-only: %v", out)
	}
}

// TL-12, TL-19: the tool that runs programs runs the allowed ones, and reports their output and exit code.
func TestProgramsRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	out, err := s.shell(t.Context(), "echo out; echo err >&2; pwd > where; exit 3")
	if err != nil || out["exit_code"] != float64(3) || out["stdout"] != "out\n" || out["stderr"] != "err\n" ||
		!strings.Contains(s.stdout.String(), "out\n") {
		t.Errorf("%v (%v), output %q", out, err, s.stdout.String())
	}
	if where, err := os.ReadFile(filepath.Join(s.folder, "where")); err != nil || string(where) != "/workspace\n" {
		t.Errorf("it ran in %q (%v)", where, err)
	}
	if out, err := s.shell(t.Context(), "kill -9 $$"); err != nil || out["signal"] != "killed" {
		t.Errorf("killed: %v (%v)", out, err)
	}
	for _, input := range []string{`{"command":["ls"]}`, `{"command":["/bin/sh","-c","id"]}`, `{"command":["./sh"]}`,
		`{"command":["sh","-c","id"],"folder":"../.."}`,
		`{"command":["cat"],"folder":"none"}`} {
		if out, err := s.run(t.Context(), "workspace.exec", input); err == nil {
			t.Errorf("%s: %v", input, out)
		}
	}
}

// TL-16, TL-17: time, processes, memory and output are bounded, and no process outlives a run.
func TestASandboxIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	// Both outlive their parents; a new session does not save them.
	if out, err := s.shell(soon,
		"(while :; do echo . >> /workspace/alive; done) & (trap '' TERM HUP; setsid sleep 1000) & sleep 1000"); err == nil {
		t.Errorf("over its time: %v", out)
	}
	if s.running("sleep\x001000") {
		t.Error("a process of a killed run goes on")
	}
	if out, err := s.shell(t.Context(), "sleep 1001 >/dev/null 2>&1 & echo left"); err != nil ||
		out["stdout"] != "left\n" || s.running("sleep\x001001") {
		t.Errorf("what is left behind: %v (%v)", out, err)
	}
	out, err := s.shell(t.Context(), "i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done; echo made")
	if said := strings.ToLower(fmt.Sprint(out, err)); !strings.Contains(said, "fork") {
		t.Errorf("200 processes: %.500s", said)
	}
	shortly, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if out, err := s.shell(shortly, "bomb() { bomb | bomb & sleep 1002; }; bomb; sleep 1002"); err == nil &&
		out["exit_code"] == float64(0) || s.running("sleep\x001002") {
		t.Errorf("a fork bomb: %.500s (%v)", fmt.Sprint(out), err)
	}
	if out, err := s.shell(t.Context(),
		"head -c 2000000000 /dev/zero | cat >/dev/null; a=$(head -c 1000000000 /dev/zero | tr '\\0' x); echo ${#a}"); err == nil &&
		out["exit_code"] == float64(0) && out["stdout"] == "1000000000\n" {
		t.Errorf("1 GB of memory: %.200s", fmt.Sprint(out))
	}
}

// running reports whether a process of this machine was started with this command.
func (s *site) running(command string) bool {
	s.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && strings.Contains(string(text), command) {
			return true
		}
	}
	return false
}

// anybody is an approver that asks no person.
type anybody struct{}

func (anybody) Ask(context.Context, tools.Call, tools.Class, string) (tools.Answer, error) {
	return tools.Answer{Allow: true, Actor: "ann"}, nil
}

// discard records nothing.
type discard struct{}

func (discard) Open(_ context.Context, call tools.Call, _ tools.Requested) (tools.Call, bool, error) {
	return call, false, nil
}

func (discard) Record(context.Context, tools.Call, ...tools.Event) error { return nil }

// TL-17: 1 GiB of output ends with an error as soon as it exceeds the limit, through the executor.
func TestEndlessOutputIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := childTools()
	registry, err := tools.NewRegistry(tools.RegistryOptions{AllowDangerous: true}, all[len(all)-2])
	if err != nil {
		t.Fatal(err)
	}
	executor := tools.NewExecutor(tools.Options{Registry: registry, Recorder: discard{}, Approver: anybody{},
		Sandboxes: map[tools.Class]tools.Sandbox{tools.Dangerous: s.box},
		Limits:    map[tools.Class]tools.Limits{tools.Dangerous: s.limits}})
	began := time.Now()
	outcome, err := executor.Do(t.Context(),
		tools.Call{Tool: "workspace.exec", Input: json.RawMessage(`{"command":["head","-c","1073741824","/dev/zero"]}`),
			Workspace: s.folder},
		tools.Policy{}, nil)
	if err != nil || !outcome.IsError ||
		!strings.Contains(string(outcome.Output), "stdout is above its limit of 1048576 bytes") {
		t.Errorf("%v: %.300s", err, outcome.Output)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

// TL-16: an unusable sandbox is reported with the remedy, and nothing runs.
func TestAMissingSandboxRunsNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	broken := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no permission to make namespaces >&2\nexit 1\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		box  tools.Sandbox
		says string
	}{
		"none":            {sandbox.NewBubblewrap("/nonexistent/bwrap", program(t)...), "apt-get install bubblewrap"},
		"no namespaces":   {sandbox.NewBubblewrap(broken, program(t)...), "no permission to make namespaces"},
		"no client":       {sandbox.NewDocker("/nonexistent/docker", "debian", program(t)...), "install Docker"},
		"no image":        {sandbox.NewDocker("", "", program(t)...), "no image"},
		"another program": {sandbox.NewBubblewrap(bubblewrap(t), "/bin/true"), "without a result"},
	} {
		err := c.box.Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		job := tools.Job{Tool: "workspace.write", Input: json.RawMessage(`{"path":"a","content":"a"}`), Workspace: folder,
			Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
		if out, err := c.box.Run(t.Context(), tools.Tool{}, job, tools.Limits{}); err == nil {
			t.Errorf("%s: it ran: %s", name, out)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the workspace has %v (%v)", left, err)
	}
}

func bubblewrap(t *testing.T) string {
	t.Helper()
	return agenttest.Bubblewrap(t)
}
