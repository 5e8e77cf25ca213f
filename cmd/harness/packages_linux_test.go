package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"harness/tests/programtest"
)

// capabilities returns the capabilities that the packages name, by number.
func capabilities(t *testing.T, names []string) map[int]bool {
	t.Helper()
	numbers := map[string]int{"CHOWN": unix.CAP_CHOWN, "DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "KILL": unix.CAP_KILL,
		"SETGID": unix.CAP_SETGID, "SETUID": unix.CAP_SETUID, "SYS_ADMIN": unix.CAP_SYS_ADMIN,
		"SYS_PTRACE": unix.CAP_SYS_PTRACE}
	kept := map[int]bool{}
	for _, name := range names {
		number, known := numbers[strings.TrimPrefix(strings.TrimSpace(name), "CAP_")]
		if !known {
			t.Fatalf("the right %s is not known to this test", name)
		}
		kept[number] = true
	}
	return kept
}

// The shipped packages run agents as a separate user. As root with the rights of the unit or of the container, the
// server starts a runtime as that user. The runtime works in a separate folder and can neither read the data directory
// nor signal the server. The server can end it and find it again.
func TestThePackagesRunAgentsAsAUserOfTheirOwn(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root can start a program as another user
	}
	for name, c := range map[string]struct{ file, rights, user, workspace string }{
		"unit": {"../../deploy/harness.service", `CapabilityBoundingSet=(.*)`, "HARNESS_RUNTIME_USER=harness-agent",
			"HARNESS_WORKSPACE=/var/lib/harness-agent/workspace"},
		"container": {"../../docker-compose.yml", `cap_drop: \[ALL\]\s+cap_add: \[(.*)\]`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shipped, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(shipped), c.user) || !strings.Contains(string(shipped), c.workspace) {
				t.Errorf("%s names no user and folder of agents", c.file)
			}
			rights := regexp.MustCompile(c.rights).FindStringSubmatch(string(shipped))
			if rights == nil {
				t.Fatalf("%s names no rights", c.file)
			}
			kept := capabilities(t, strings.FieldsFunc(rights[1], func(r rune) bool { return r == ' ' || r == ',' }))
			folder := t.TempDir()
			s := programtest.New(t, programtest.WithEnv("HARNESS_RUNTIME_USER=nobody", "HARNESS_WORKSPACE="+folder, "DEFAULT_APPROVAL_POLICY=never"))
			s.Become(programtest.Unprivileged)
			s.Own(folder)
			s.User = 0
			if err := os.Chown(s.DataDir, 0, 0); err != nil {
				t.Fatal(err)
			}
			// A thread that lost rights is not reused; programs that it starts have lost them, too.
			runtime.LockOSThread()
			for number := range unix.CAP_LAST_CAP + 1 {
				if !kept[number] {
					if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0); err != nil {
						t.Fatal(number, err)
					}
				}
			}
			if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
				t.Fatal(err)
			}
			server := s.Start()
			session := server.CreateSession(nil)
			said := runIn(server, session, "id -un; pwd; touch made && echo made; exec 2>&1; cat "+s.DataDir+
				"/harness.db; kill -0 "+strconv.Itoa(server.Cmd.Process.Pid)+" && echo reached")
			if !strings.Contains(said, "nobody"+"\n"+folder+"\nmade\n") || strings.Contains(said, "SQLite") ||
				strings.Contains(said, "reached") {
				t.Errorf("an agent says %s", said)
			}
			pid := server.RuntimePID()
			server.Kill()
			server = s.Start()
			server.WaitRuntime()
			if got := server.RuntimePID(); got != pid {
				t.Errorf("runtime %d after %d", got, pid)
			}
			if said := runIn(server, session, "id -u"); !strings.Contains(said, strconv.Itoa(programtest.Unprivileged)) {
				t.Errorf("an agent says %s", said)
			}
			server.Stop()
			s.RequireNoOrphans()
			if info, err := os.Stat(filepath.Join(folder, "made")); err != nil || info.Size() != 0 {
				t.Error(err)
			}
		})
	}
}

// runIn makes an agent run a command and returns its output.
func runIn(i *programtest.Server, session, command string) string {
	i.T.Helper()
	turn := i.Send(session, "MOCK_CMD["+command+"]")
	var answer string
	i.Eventually("the command has run", func() bool {
		for _, entry := range i.Transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				answer = programtest.Text(entry, "content")
			}
		}
		return answer != ""
	})
	return answer
}

// The container's start script gives the server the data directory that an earlier image left to the agents' user. If
// it does not run as root, it runs without that user.
func TestTheContainersStart(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // the second half covers a container that starts as another user
	}
	const agent = 10001
	s := withoutDataDir(t)
	s.Env = s.Env[:len(s.Env)-1] // without codex, which would be copied
	s.Become(agent)
	s.User = 0
	programs := t.TempDir()
	if err := os.Chmod(filepath.Dir(programs), 0o755); err != nil { //nolint:gosec // for the other user
		t.Fatal(err)
	}
	if err := os.Symlink(s.Program, filepath.Join(programs, "harness")); err != nil {
		t.Fatal(err)
	}
	start := func(user uint32) string {
		t.Helper()
		cmd := exec.Command("../../deploy/entrypoint.sh", "config", "print")
		cmd.Env = append(s.Env, "PATH="+programs+":"+os.Getenv("PATH"), "DATA_DIR="+s.DataDir, "HARNESS_RUNTIME_USER=agent")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		return string(out)
	}
	if said := start(agent); !strings.Contains(said, "not root") || !strings.Contains(said, "HARNESS_RUNTIME_USER= ") {
		t.Errorf("as another user: %s", said)
	}
	for range 2 {
		if said := start(0); !strings.Contains(said, "HARNESS_RUNTIME_USER=agent ") {
			t.Errorf("as root: %s", said)
		}
		info, err := os.Stat(s.DataDir)
		if err != nil || info.Mode().Perm() != 0o700 || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("the data directory is %v %v", info, err)
		}
	}
}
