package agents

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"harness/internal/runtime/process/doors"
	"harness/tests/fencetest"
	"harness/tests/programtest"
)

// trusting makes servers require no token even if other servers are registered, because these tests check what the
// kernel lets agents do.
const trusting = "HARNESS_TRUST_LOCAL=true"

// No trick connects a real agent's commands to a users' port, neither of its own server nor of one that another
// process of this machine registered. They can reach other ports.
func TestNoTrickTakesAnAgentToADoor(t *testing.T) {
	t.Parallel()
	s, machine, folder := withEveryRuntime(t), fencetest.New(t), t.TempDir()
	s.Env = append(s.Env, "HARNESS_RUNTIMES=codex,claude,gemini,opencode")
	release, _, err := doors.Register(filepath.Join(folder, "harness"), nil, machine.Port())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	server := s.Start("XDG_RUNTIME_DIR="+folder, trusting)
	server.WaitRuntime()
	events := server.Follow("after=0")
	own := machine.Target
	own.Fenced = portOf(t, server)
	for _, one := range []driven{
		{name: "codex", levels: levels("never", "danger-full-access")}, {name: "codex", levels: levels("never", "workspace-write")},
		{name: "claude", levels: levels("untrusted", "danger-full-access")},
		{name: "gemini", levels: levels("untrusted", "danger-full-access")},
		{name: "opencode", levels: levels("untrusted", "danger-full-access")},
	} {
		t.Run(fmt.Sprint(one.name, " ", one.levels["filesystemSandbox"]), func(t *testing.T) {
			agent := fenced{t, server, folder, events, one}
			for door, target := range map[string]fencetest.Target{"registered": machine.Target, "its server's": own} {
				for trick, result := range agent.plays(target) {
					if answer := fencetest.Answers()[trick]; result == "ok" && answer != "ok" ||
						strings.HasPrefix(trick, "open port") && result != "ok" {
						t.Errorf("%s door, %s: %q", door, trick, result)
					}
				}
			}
		})
	}
	machine.Untouched()
	server.Stop()
}

// The agents of two servers cannot reach the other server, in either start order, if they start after it.
func TestAgentsOfTwoServersReachNeither(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var servers []*programtest.Server
	for range 2 {
		site := programtest.WithClaude(t)
		servers = append(servers, site.Start("XDG_RUNTIME_DIR="+folder, trusting))
	}
	for i, server := range servers {
		other := servers[1-i]
		got := fenced{t, server, folder, server.Follow("after=0"),
			driven{name: "claude", levels: levels("untrusted", "danger-full-access")}}.plays(fencetest.Target{Fenced: portOf(t, other), Open: portOf(t, server)})
		for _, trick := range []string{"IPv4", "open port", "MPTCP", "fast open by sendto"} { // the open one belongs to its own server
			if result := got[trick]; result == "ok" || result == "killed" {
				t.Errorf("an agent of server %d, %s: %q", i, trick, result)
			}
		}
	}
	for _, server := range servers {
		server.Stop()
	}
}

// A runtime that a new server adopts keeps its fence around the old server's port. If the new server has another
// port, the fence does not cover it, and the log reports this.
func TestARuntimeKeepsItsFence(t *testing.T) {
	t.Parallel()
	s, folder := programtest.New(t), t.TempDir()
	server := s.Start("XDG_RUNTIME_DIR="+folder, trusting)
	server.WaitRuntime()
	port := portOf(t, server)
	server.Kill()
	const warning = "agents are not kept from this server's port"

	server = s.Start(fmt.Sprintf("PORT=%d", port), "XDG_RUNTIME_DIR="+folder, trusting)
	server.WaitRuntime()
	// Start a second server, so that two ports are registered.
	second := programtest.New(t, programtest.WithoutAgent()).Start("XDG_RUNTIME_DIR="+folder, trusting)
	if server.Logged(warning) {
		t.Error("with the same port the fence does not stand")
	}
	got := fenced{t, server, folder, server.Follow("after=0"),
		driven{name: "codex", levels: levels("never", "danger-full-access")}}.plays(
		fencetest.Target{Fenced: port, Open: portOf(t, second)})
	for trick, result := range got {
		if answer := fencetest.Answers()[trick]; result == "ok" && answer != "ok" || trick == "IPv4" && result != "EACCES" {
			t.Errorf("%s: %q", trick, result)
		}
	}
	server.Kill()

	server = s.Start()
	server.WaitRuntime()
	if !server.Logged(warning, "an earlier server started") {
		t.Error("with another port the fence stands")
	}
	server.Stop()
	second.Stop()
}

func levels(approval, sandbox string) programtest.Object {
	return programtest.Object{"approvalPolicy": approval, "filesystemSandbox": sandbox, "networkAccess": "enabled"}
}

func portOf(t *testing.T, server *programtest.Server) int {
	t.Helper()
	port, err := strconv.Atoi(server.URL[strings.LastIndexByte(server.URL, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// fenced is an agent that runs tricks.
type fenced struct {
	t      *testing.T
	server *programtest.Server
	// folder is the XDG_RUNTIME_DIR in which two ports are registered.
	folder string
	events *programtest.Follower
	driven
}

// plays makes the agent run all tricks, with this test's binary and in a separate session, and returns their results.
func (f fenced) plays(target fencetest.Target) map[string]string {
	f.t.Helper()
	program, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	script, results := filepath.Join(f.server.Workspace, "tricks.sh"), filepath.Join(f.server.Workspace, "results")
	var lines strings.Builder
	// Run them separately, because codex's sandbox kills a program that makes a 32-bit call.
	for _, names := range []string{"[^3]*", "32*"} {
		command, err := target.Command(program, names)
		if err != nil {
			f.t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s >> %s\n", command, results)
	}
	// A registration stays, whichever process tries to remove it.
	fmt.Fprintf(&lines, "rm -f %[1]s/harness/*; echo > %[1]s/harness/1-x; true\n", f.folder)
	if err := os.WriteFile(script, []byte(lines.String()), 0o600); err != nil {
		f.t.Fatal(err)
	}
	levels := programtest.Object{"runtime": f.name, "cwd": f.server.Workspace}
	maps.Copy(levels, f.levels)
	session := f.server.CreateSession(levels)
	turn := f.server.Send(session, "MOCK_CMD[sh "+script+"]")
	for asked := 0; ; asked++ {
		approval := approvalOf(f.events, session, asked)
		if approval == nil {
			break
		}
		f.server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(approval, "approvalId")+"/decision",
			programtest.Object{"decision": "accept"})
	}
	if status := f.events.FindTurn(turn); status != "completed" {
		f.t.Errorf("the turn ended %s", status)
	}
	text, err := os.ReadFile(results)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.Remove(results); err != nil {
		f.t.Fatal(err)
	}
	if left, err := filepath.Glob(f.folder + "/harness/*-*"); err != nil || len(left) != 2 || slices.Contains(left, f.folder+"/harness/1-x") {
		f.t.Errorf("registered are %v, %v", left, err)
	}
	all := map[string]string{}
	for trick := range fencetest.Answers() {
		all[trick] = "killed"
	}
	for line := range strings.Lines(string(text)) {
		maps.Copy(all, fencetest.Results(f.t, line))
	}
	return all
}
