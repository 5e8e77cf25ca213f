package confine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime/process/confine"
	"harness/tests/fencetest"
)

// stageArgument makes the test binary the stage, launchArgument the server that starts the stage. A plan and the
// script follow.
const (
	stageArgument  = "confine-stage"
	tryArgument    = "confine-try"
	launchArgument = "confine-launch"
)

// otherUID is a user without rights, for tests that run as root.
const otherUID = 65534

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == stageArgument {
		if err := confine.Run(os.Args[2:]); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(125)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == tryArgument {
		if err := confine.Try(context.Background(), []string{os.Args[0], os.Args[2]}); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	fencetest.Play()
	if len(os.Args) == 4 && os.Args[1] == launchArgument {
		os.Exit(launch(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

func launch(plan, script string) int {
	own, err := os.Executable()
	if err != nil {
		return 124
	}
	cmd := exec.Command(own, stageArgument, plan, "/bin/sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// The kernel sends the signal when the thread that started the program ends.
	runtime.LockOSThread()
	var parsed confine.Plan
	if json.Unmarshal([]byte(plan), &parsed) != nil {
		return 123
	}
	confine.Attributes(cmd.SysProcAttr, parsed)
	if err := cmd.Run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// ground is a folder with a secret, a setting and a working folder.
type ground struct {
	t                                                      *testing.T
	root, data, secret, home, work, setting, code, program string
	user                                                   int
	userNamespace                                          bool
}

// newGround makes a ground for a user, -1 for the user of the test. That user must be able to start the stage.
func newGround(t *testing.T, user int) *ground {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil { //nolint:gosec // for another user
		t.Fatal(err)
	}
	g := &ground{t: t, root: root, data: filepath.Join(root, "data"), user: user}
	g.secret, g.home = filepath.Join(g.data, "secret"), filepath.Join(g.data, "home")
	g.work, g.setting, g.code = filepath.Join(root, "work"), filepath.Join(root, "work", ".env"), filepath.Join(root,
		"work", "agents")
	for _, dir := range []string{g.data, g.home, g.work, g.code} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for another user
			t.Fatal(err)
		}
	}
	for _, file := range []string{g.secret, g.setting, filepath.Join(g.home, "auth"), filepath.Join(g.code, "x.js")} {
		if err := os.WriteFile(file, []byte("secret "+filepath.Base(file)), 0o644); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
	}
	g.program = filepath.Join(root, "stage")
	copyFile(t, "/proc/self/exe", g.program)
	if err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || user < 0 {
			return err
		}
		return os.Lchown(path, user, user)
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	return g
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // a program
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func (g *ground) plan() confine.Plan {
	return confine.Plan{Hide: []string{g.data, g.setting, filepath.Join(g.root, "missing")}, Keep: []string{g.home},
		Protect: []string{g.code}}
}

// sh runs a script under a plan, as the ground's user, and returns its output.
func (g *ground) sh(plan confine.Plan, script string) string {
	g.t.Helper()
	plan.UserNamespace = g.userNamespace
	text, err := json.Marshal(plan)
	if err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.Command(g.program, launchArgument, string(text), script)
	cmd.Dir = g.work
	if g.user >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(g.user), Gid: uint32(g.user)}} //nolint:gosec // an id
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// runs returns the variants of the tests: as the current user and, if that is root, in a user namespace and as a user
// without rights, too.
func runs() map[string]func(*testing.T) *ground {
	as := func(user int, userNamespace bool) func(*testing.T) *ground {
		return func(t *testing.T) *ground {
			g := newGround(t, user)
			g.userNamespace = userNamespace
			return g
		}
	}
	if os.Geteuid() != 0 {
		return map[string]func(*testing.T) *ground{"this user": as(-1, true)}
	}
	return map[string]func(*testing.T) *ground{
		"root": as(-1, false), "root with a user namespace": as(-1, true), "unprivileged": as(otherUID, true),
	}
}

func TestHiddenFilesAreNotThere(t *testing.T) {
	for name, ground := range runs() {
		t.Run(name, func(t *testing.T) {
			g := ground(t)
			for what, check := range map[string]struct{ script, want string }{
				"a hidden folder is empty":       {"ls -A " + g.data, "home\n"},
				"a hidden file cannot be opened": {"cat " + g.secret + " 2>/dev/null || echo no", "no\n"},
				"nor be made":                    {"(echo x > " + g.secret + ") 2>/dev/null || echo no", "no\n"},
				"what is kept can be read":       {"cat " + g.home + "/auth", "secret auth"},
				"and written":                    {"echo x > " + g.home + "/new && cat " + g.home + "/new", "x\n"},
				"a hidden setting is empty":      {"cat .env", ""},
				"and stays so":                   {"(echo x > .env) 2>/dev/null || echo no", "no\n"},
				"it cannot be replaced":          {"(mv .env .old || rm -f .env) 2>/dev/null || echo no", "no\n"},
				"code can be read":               {"cat agents/x.js", "secret x.js"},
				"and not changed": {"(echo x > agents/y.js) 2>/dev/null || (mv agents old) 2>/dev/null || echo no",
					"no\n"},
				"the rest is as it was": {"echo x > file && cat file && pwd", "x\n" + g.work + "\n"},
			} {
				if got := g.sh(g.plan(), check.script); got != check.want {
					t.Errorf("%s: got %q, want %q", what, got, check.want)
				}
			}
			if secret, err := os.ReadFile(g.secret); err != nil || string(secret) != "secret secret" {
				t.Errorf("outside, the secret is %q, %v", secret, err)
			}
		})
	}
}

// A user without rights cannot remove the view, and cannot bypass it through a process outside. (Root can: nothing
// stops an agent that runs as root without a sandbox.)
func TestConfinementCannotBeLeft(t *testing.T) {
	for name, ground := range runs() {
		if name != "root" {
			t.Run(name, func(t *testing.T) { cannotLeave(t, ground(t)) })
		}
	}
}

func cannotLeave(t *testing.T, g *ground) {
	t.Helper()
	// A process of the same user outside: the test itself, or one started for it.
	outside := exec.Command("sleep", "3600")
	if g.user >= 0 {
		outside.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUID, Gid: otherUID}}
	}
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = outside.Process.Kill()
		_ = outside.Wait()
	}()
	through := fmt.Sprintf("/proc/%d/root%s", outside.Process.Pid, g.secret)
	for what, script := range map[string]string{
		"unmounting": "umount " + g.data,
		"unmounting with rights of a user namespace": "unshare -U -r -m umount " + g.data,
		"binding the root elsewhere": "unshare -U -r -m sh -c 'mount --bind / /mnt && cat /mnt" +
			g.secret + "'", "mounting over it": "unshare -U -r -m sh -c 'mount --move " + g.data + " /mnt && cat " +
			g.secret + "'", "another process's root": "cat " + through,
		"another process's root with rights": "unshare -U -r cat " + through,
		"another process's namespace":        fmt.Sprintf("nsenter -t %d -m cat %s", outside.Process.Pid, g.secret),
		"the parent's working directory":     "cat /proc/$PPID/cwd/../data/secret",
		"removing the protection": "unshare -U -r -m sh -c 'mount -o remount,rw,bind agents && echo x " +
			"> agents/y.js && echo secret'",
	} {
		got := g.sh(g.plan(), "("+script+") 2>&1; true")
		if strings.Contains(got, "secret") && !strings.Contains(got, "No such file") && !strings.Contains(got, "denied") {
			t.Errorf("%s shows it: %s", what, got)
		}
		if strings.TrimSpace(got) == "" {
			t.Errorf("%s worked", what)
		}
	}
	if _, err := os.Stat(filepath.Join(g.code, "y.js")); err == nil {
		t.Error("protected code was changed")
	}
}

// The program replaces the stage: same process id, no rights left, the parent's signal and environment kept.
func TestProgramReplacesTheStage(t *testing.T) {
	for name, ground := range runs() {
		t.Run(name, func(t *testing.T) {
			g := ground(t)
			got := g.sh(g.plan(), `test -r /proc/$$/exe; grep CapAmb /proc/$$/status; tr '\0' ' ' < /proc/$$/cmdline`)
			if !strings.HasPrefix(got, "CapAmb:\t0000000000000000\n/bin/sh -c ") {
				t.Errorf("got %q", got)
			}
			if user := g.user; user >= 0 {
				if got := g.sh(g.plan(), "grep CapEff /proc/$$/status; id -u"); got != fmt.Sprintf(
					"CapEff:\t0000000000000000\n%d\n", user) {
					t.Errorf("got %q", got)
				}
			}
		})
	}
}

func TestTheRuntimesUserHasNoRights(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can choose a user; the refusal is below
	}
	g := newGround(t, otherUID)
	g.user = -1
	plan := g.plan()
	plan.User, plan.UID, plan.GID, plan.Groups = true, otherUID, otherUID, []uint32{otherUID}
	if got := g.sh(plan, "id -u; id -g; id -G; grep -c . /etc/shadow 2>/dev/null || echo no; ls -A "+
		g.data); got != "65534\n65534\n65534\nno\nhome\n" {
		t.Errorf("got %q", got)
	}
}

func TestProgramsWithoutConfinementAreRefused(t *testing.T) {
	g := newGround(t, -1)
	text, err := json.Marshal(confine.Plan{Hide: []string{g.data}})
	if err != nil {
		t.Fatal(err)
	}
	// Without the namespace the kernel refuses the mount, or all processes would see it; the stage's own check
	// protects root.
	cmd := exec.Command(g.program, stageArgument, string(text), "/bin/sh", "-c", "cat "+g.secret)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUID, Gid: otherUID}}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr = nil
	}
	if out, err := cmd.CombinedOutput(); err == nil || bytes.Contains(out, []byte("secret secret")) {
		t.Errorf("the program ran without its plan: %s", out)
	}
}

func TestMachineSupportsConfinement(t *testing.T) {
	g := newGround(t, -1)
	if userNamespace, err := confine.Probe(t.Context(), []string{g.program, tryArgument, stageArgument}); err != nil ||
		userNamespace == (os.Geteuid() == 0) {
		t.Errorf("with a user namespace: %v, %v", userNamespace, err)
	}
	if err := confine.Try(t.Context(), []string{g.program, stageArgument}); err != nil {
		t.Error(err)
	}
	if err := confine.Try(t.Context(), []string{g.program, "-test.run=no-stage"}); err == nil {
		t.Error("a stage that hides nothing passes")
	}
}

// The kernel kills a confined program with its parent, like any runtime.
func TestAConfinedProgramDiesWithItsParent(t *testing.T) {
	for name, ground := range runs() {
		t.Run(name, func(t *testing.T) {
			g := ground(t)
			plan := g.plan()
			plan.UserNamespace = g.userNamespace
			text, err := json.Marshal(plan)
			if err != nil {
				t.Fatal(err)
			}
			parent := exec.Command(g.program, launchArgument, string(text), "echo ready; exec sleep 3600")
			if g.user >= 0 {
				parent.SysProcAttr = &syscall.SysProcAttr{
					Credential: &syscall.Credential{Uid: uint32(g.user), Gid: uint32(g.user)}} //nolint:gosec // an id
			}
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(out)
			if line, err := reader.ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			// The program has the other end of the pipe, which closes when the program is gone.
			if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
			_ = parent.Wait()
		})
	}
}
