package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// The getting-started example works word for word: curl and a small websocket client against a real server.
func TestTheSmokeScriptPasses(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	server.WaitRuntime()
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	examples, err := filepath.Abs("../../docs/examples/smoke")
	if err != nil {
		t.Fatal(err)
	}
	watch := filepath.Join(t.TempDir(), "watch")
	if err := programtest.Build(examples, "./watch", watch); err != nil {
		t.Fatal(err)
	}
	smoke := exec.CommandContext(ctx, filepath.Join(examples, "smoke.sh"))
	smoke.Env = append(os.Environ(), "URL="+server.URL, "WATCH="+watch, "ASKING=MOCK_CMD[touch smoke.txt]",
		"LASTING=MOCK_SLOW[300]")
	out, err := smoke.CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "smoke: ok") {
		t.Fatalf("the smoke script failed: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(s.Workspace, "smoke.txt")); err != nil {
		t.Errorf("the approved command did not run: %v", err)
	}
}
