package runtimetest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"harness/internal/runtime"
)

// unattended: in this mode there is no approval request, a command that waits for input gets none, and the turn ends
// by itself. The adapter refuses a level that needs a user.
func unattended(t *testing.T, s *scene) {
	levels := runtime.StartThread{Cwd: s.Dir, ApprovalPolicy: "never", NetworkAccess: "enabled"}
	var thread runtime.Thread
	for _, levels.Sandbox = range slices.Backward(s.Capabilities().Sandboxes) {
		var refused *runtime.ControlError
		var err error
		if thread, err = s.StartThread(t.Context(), levels); err == nil {
			break
		} else if !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
	if thread.ID == "" {
		if policies := runtime.CapabilitiesOf(s.Adapter).ApprovalPolicies; slices.Contains(policies, levels.ApprovalPolicy) {
			t.Errorf("it offers %v, and no sandbox to go with it", policies)
		}
		return
	}
	file := filepath.Join(s.Dir, "read")
	started, err := s.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID,
		Input:          Text(s.Script.Command("cat > " + file)),
		ApprovalPolicy: levels.ApprovalPolicy, Sandbox: levels.Sandbox, NetworkAccess: levels.NetworkAccess})
	if err != nil {
		t.Fatal(err)
	}
	if end := s.End(t, started.TurnID); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	if read, err := os.ReadFile(file); len(read) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it read %q, %v", read, err)
	}
	for _, signal := range s.Signals() {
		if change, is := signal.Change.(runtime.InteractiveRequested); is && signal.TurnID == started.TurnID {
			t.Errorf("there is a request: %+v", change)
		}
	}
}
