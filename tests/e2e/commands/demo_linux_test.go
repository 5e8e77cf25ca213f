package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/codextest"
	"harness/tests/programtest"
)

// The first turn of a user without an account. On a terminal, `make demo` asks before the agent writes its file,
// follows the answer, and leaves neither a process nor a file.
func TestTheDemoIsAFirstTurn(t *testing.T) {
	t.Parallel()
	model := filepath.Join(t.TempDir(), "mockmodel")
	if err := programtest.Build("../../..", "./tests/mockmodel/cmd/mockmodel", model); err != nil {
		t.Fatal(err)
	}
	harness := filepath.Join(t.TempDir(), "harness") // with an environment without test settings
	script := "#!/bin/sh\nexec '" + programtest.Program(t) + "' \"$@\"\n"
	if err := os.WriteFile(harness, []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for answer, written := range map[string]string{"y\n": "hello.txt says: hello", "not now\n": "hello.txt was not written"} {
		t.Run(strings.TrimSpace(answer), func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			demo := exec.Command("../../../scripts/demo.sh")
			demo.Env = []string{"PATH=" + agenttest.PathWithout(t, "bwrap"), "HOME=/nowhere", "TMPDIR=" + temporary,
				"HARNESS_BIN=" + harness, "MOCKMODEL_BIN=" + model, "CODEX_BIN=" + codextest.Binary(t, codextest.Default),
				"OPENAI_API_KEY=of-nobodys-business", "DATABASE_URL=postgres://nowhere/nothing"}
			s := inTerminal(t, demo)
			s.awaits("echo hello > hello.txt")
			s.awaits(whetherToAllow)
			s.types(answer)
			s.awaits(written)
			s.awaits(" in a browser")
			s.awaits("Enter ends the demo")
			s.types("\n")
			s.ends(0)
			left, err := os.ReadDir(temporary)
			if err != nil || len(left) > 0 {
				t.Errorf("it left %v (%v)", left, err)
			}
			environments, err := filepath.Glob("/proc/[0-9]*/environ")
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range environments {
				// An unreadable process has ended.
				if environment, err := os.ReadFile(path); err == nil && strings.Contains(string(environment), temporary) {
					t.Errorf("it left a process: %s", path)
				}
			}
		})
	}
}
