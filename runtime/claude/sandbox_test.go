package claude_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"harness/runtime"
)

// confines tells whether this machine has what Claude Code confines commands with.
func confines() bool {
	if goruntime.GOOS == "darwin" {
		return true
	}
	_, noBwrap := exec.LookPath("bwrap")
	_, noSocat := exec.LookPath("socat")
	return noBwrap == nil && noSocat == nil
}

// What a level promises is what happens, though a person allows whatever is asked: an agent tries to write inside and outside of its folder,
// with a command and with its file tool, and to reach the network.
func TestLevelsAreEnforced(t *testing.T) {
	t.Parallel()
	type happens struct{ command, file, outside, network bool }
	levels := map[string]happens{"read-only": {}, "danger-full-access": {true, true, true, true}}
	if confines() {
		levels["workspace-write"] = happens{command: true, file: true}
	}
	for level, want := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			controls := runtime.StartThread{ApprovalPolicy: "untrusted", Sandbox: level, NetworkAccess: "restricted"}
			if level == "danger-full-access" {
				controls.NetworkAccess = "enabled"
			}
			s := newStage(t, controls, nil)
			s.mu.Lock()
			s.reply = func(asked runtime.Signal) runtime.Reply {
				if change, _ := asked.Change.(runtime.InteractiveRequested); change.Asked.Subject == runtime.SubjectNetwork {
					return runtime.Reply{Decision: "decline"}
				}
				return runtime.Reply{Decision: "accept"}
			}
			s.mu.Unlock()
			outside := filepath.Join(t.TempDir(), "outside")
			s.turn(fmt.Sprintf("MOCK_CMD[touch command] MOCK_PATCH[file] MOCK_CMD[touch %s] MOCK_CMD[curl -s -m 5 %s/ > network || rm -f network]",
				outside, s.model.Root()))
			_, err := os.Stat(outside)
			if got := (happens{s.made("command"), s.made("file"), err == nil, s.made("network")}); got != want {
				t.Errorf("it could %+v, promised is %+v; the model heard %v", got, want, s.model.Outputs())
			}
		})
	}
}

// A level that cannot be enforced is refused, whatever else is asked for; nothing is weakened.
func TestLevelsThatCannotBeEnforced(t *testing.T) {
	t.Parallel()
	s := prepared(t, open(), nil)
	offered := s.Capabilities().Sandboxes
	if slices.Contains(offered, "workspace-write") != confines() || offered[0] != "read-only" {
		t.Errorf("it offers %v", offered)
	}
	refused := map[string]runtime.StartThread{"networkAccess": {Sandbox: "danger-full-access", NetworkAccess: "restricted"}}
	if !confines() {
		refused["filesystemSandbox"] = runtime.StartThread{Sandbox: "workspace-write"}
	}
	if os.Getuid() == 0 {
		refused["approvalPolicy"] = runtime.StartThread{Sandbox: "danger-full-access", ApprovalPolicy: "never", NetworkAccess: "enabled"}
	}
	for field, controls := range refused {
		controls.Cwd = s.dir
		var control *runtime.ControlError
		if _, err := s.StartThread(t.Context(), controls); !errors.As(err, &control) || control.Field != field || len(control.Enforced) == 0 {
			t.Errorf("%+v: %v", controls, err)
		}
	}
	if _, err := s.StartThread(t.Context(), runtime.StartThread{Cwd: filepath.Join(s.dir, "nowhere")}); !errors.Is(err, runtime.ErrInvalidParams) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if processes := s.Status().Processes; len(processes) != 0 {
		t.Errorf("%v were started for what was refused", processes)
	}
}

// Where nobody is to be asked, nobody is: what would have to be asked is denied, or runs where everything may.
func TestNobodyIsAsked(t *testing.T) {
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

// Of what keys are there only kinds are told.
func TestCredentialsAreNotTold(t *testing.T) {
	t.Parallel()
	s := prepared(t, open(), nil)
	found, err := s.Auth(t.Context())
	if err != nil || found.State != runtime.AuthFound || strings.Contains(fmt.Sprint(found), "sk-ant") {
		t.Errorf("it found %+v, %v", found, err)
	}
	s = prepared(t, open(), func(g *rig) { g.setup.Launch.Env = g.setup.Home.Env() })
	if found, err := s.Auth(t.Context()); err != nil || found.State != runtime.AuthMissing || !strings.Contains(found.Remedy, "ANTHROPIC_API_KEY") {
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
