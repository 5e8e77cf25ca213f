package claude_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/agenttest"
	"harness/tests/runtimetest"
)

// machine is the set of programs available to confine commands.
type machine string

const (
	equipped   machine = "with bubblewrap"
	unequipped machine = "without bubblewrap"
	crippled   machine = "with a bubblewrap that does not work"
)

// on makes Claude Code and its adapter find the programs of a machine.
func on(t *testing.T, m machine) func(*rig) {
	t.Helper()
	path := os.Getenv("PATH")
	switch m {
	case equipped:
		path = agenttest.SandboxPath(t)
	case unequipped:
		path = agenttest.PathWithout(t, "bwrap")
	case crippled:
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "bwrap"), []byte("#!/bin/sh\necho no namespaces here >&2\nexit 1\n"),
			0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		path = folder + string(filepath.ListSeparator) + path
	}
	return func(g *rig) { g.setup.Launch.Env = append(g.setup.Launch.Env, "PATH="+path) }
}

// Each level keeps its promise, even if a user allows every request except for the network. An agent tries to write
// inside and outside of its folder, with a command and with its file tool, and to reach the network.
func TestLevelsAreEnforced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		on                       machine
		level, approval, network string
		want                     runtimetest.Reach
	}{
		{equipped, "read-only", "untrusted", "restricted", runtimetest.Reach{}},
		{unequipped, "read-only", "untrusted", "restricted", runtimetest.Reach{}},
		{equipped, "read-only", "untrusted", "enabled", runtimetest.Reach{}}, // a command does not run, for any target
		// Its file tool requests approval for each file in any folder.
		{equipped, "workspace-write", "untrusted", "restricted",
			runtimetest.Reach{Command: true, File: true, OutsideFile: true}},
		{equipped, "workspace-write", "never", "restricted", runtimetest.Reach{Command: true}},
		{equipped, "workspace-write", "untrusted", "enabled",
			runtimetest.Reach{Command: true, File: true, OutsideFile: true, Network: true}},
		{equipped, "workspace-write", "never", "enabled", runtimetest.Reach{Command: true, Network: true}},
		{crippled, "workspace-write", "never", "restricted", runtimetest.Reach{}},
		{equipped, "danger-full-access", "untrusted", "enabled", runtimetest.Everything()},
		{unequipped, "danger-full-access", "untrusted", "enabled", runtimetest.Everything()},
	} {
		t.Run(fmt.Sprintf("%s, %s, %s, %s", test.level, test.approval, test.network, test.on), func(t *testing.T) {
			t.Parallel()
			controls := runtime.StartThread{ApprovalPolicy: test.approval, Sandbox: test.level, NetworkAccess: test.network}
			s := prepared(t, controls, on(t, test.on))
			thread, err := s.StartThread(t.Context(), s.controls)
			if err != nil && test.on != crippled {
				t.Fatal(err)
			}
			s.thread = thread.ID
			s.mu.Lock()
			s.reply = func(asked runtime.Signal) runtime.Reply {
				if change, _ := asked.Change.(runtime.InteractiveRequested); change.Asked.Subject == runtime.SubjectNetwork {
					return runtime.Reply{Decision: "decline"}
				}
				return runtime.Reply{Decision: "accept"}
			}
			s.mu.Unlock()
			ground := runtimetest.NewGround(t, s.dir)
			if err == nil {
				words := target(false).Script
				s.turn(ground.Tries(words.Command, func(file string) string { return "MOCK_PATCH[" + file + "]" }))
			} else {
				t.Logf("it is not opened: %v", err)
			}
			if got := ground.Reached(); got != test.want {
				t.Errorf("it could %+v, promised is %+v; the model received %v", got, test.want, s.model.Outputs())
			}
		})
	}
}

// The adapter refuses a level that it cannot enforce, with any other settings; it weakens none.
func TestLevelsThatCannotBeEnforced(t *testing.T) {
	t.Parallel()
	for m, offered := range map[machine][]string{
		equipped: {"read-only", "workspace-write", "danger-full-access"}, unequipped: {"read-only", "danger-full-access"},
	} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			s := prepared(t, open(), on(t, m))
			if got := s.Capabilities().Sandboxes; !slices.Equal(got, offered) {
				t.Errorf("it offers %v", got)
			}
			refused := map[string]runtime.StartThread{
				"networkAccess": {Sandbox: "danger-full-access", NetworkAccess: "restricted"}}
			if m == unequipped {
				refused["filesystemSandbox"] = runtime.StartThread{Sandbox: "workspace-write"}
			}
			if os.Getuid() == 0 {
				refused["approvalPolicy"] = runtime.StartThread{Sandbox: "danger-full-access", ApprovalPolicy: "never",
					NetworkAccess: "enabled"}
			}
			for field, controls := range refused {
				controls.Cwd = s.dir
				var control *runtime.ControlError
				if _, err := s.StartThread(t.Context(), controls); !errors.As(err, &control) || control.Field != field ||
					len(control.Enforced) == 0 {
					t.Errorf("%+v: %v", controls, err)
				}
			}
			if _, err := s.StartThread(t.Context(), runtime.StartThread{Cwd: filepath.Join(s.dir, "nowhere")}); !errors.Is(err,
				runtime.ErrInvalidParams) {
				t.Errorf("a folder that is not there: %v", err)
			}
			if processes := s.Status().Processes; len(processes) != 0 {
				t.Errorf("%v were started for what was refused", processes)
			}
		})
	}
}

// A policy without approvals causes no requests: such a call is denied, or runs if everything is allowed.
func TestNoApprovalIsRequested(t *testing.T) {
	t.Parallel()
	for level, runs := range map[string]bool{"read-only": false, "danger-full-access": true} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			controls := runtime.StartThread{ApprovalPolicy: "never", Sandbox: level, NetworkAccess: "enabled"}
			s := newStage(t, controls, func(g *rig) { g.setup.Launch.Env = append(g.setup.Launch.Env, "IS_SANDBOX=1") })
			end, asked := s.turn("MOCK_CMD[touch made]")
			if len(asked) != 0 || s.made("made") != runs || end.Status != runtime.TurnDone {
				t.Errorf("it ended %+v, asked %d times, ran %t", end, len(asked), s.made("made"))
			}
		})
	}
}

// The adapter discloses only the kinds of the present keys.
func TestCredentialsAreNotDisclosed(t *testing.T) {
	t.Parallel()
	s := prepared(t, open(), nil)
	found, err := s.Auth(t.Context())
	if err != nil || found.State != runtime.AuthFound || strings.Contains(fmt.Sprint(found), "sk-ant") {
		t.Errorf("it found %+v, %v", found, err)
	}
	s = prepared(t, open(), func(g *rig) { g.setup.Launch.Env = g.setup.Home.Env() })
	if found, err := s.Auth(t.Context()); err != nil || found.State != runtime.AuthMissing ||
		!strings.Contains(found.Remedy, "ANTHROPIC_API_KEY") {
		t.Errorf("it found %+v, %v", found, err)
	}
	thread, err := s.StartThread(t.Context(), s.controls)
	if err != nil {
		t.Fatal(err)
	}
	s.thread = thread.ID
	if end, _ := s.turn("MOCK_REPLY[x]"); end.Status != runtime.TurnFailed || end.Remedy == "" {
		t.Errorf("a turn without a key ended %+v", end)
	}
}
