package agenttest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/outside"
)

// failing is a test that stores the failure instead of failing.
type failing struct {
	testing.TB
	why string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.why = fmt.Sprintf(format, args...)
	panic(f)
}

func why(t *testing.T, name string) (text string) {
	t.Helper()
	f := &failing{TB: t}
	defer func() {
		if recover() == nil {
			t.Error("it did not fail")
		}
		text = f.why
	}()
	agenttest.Binary(f, name)
	return ""
}

func TestBinariesAreThePinnedVersions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"codex", "codex-recorded", "codex-oldest", "claude", "opencode", "gemini"} {
		command := exec.Command(agenttest.Binary(t, name), "--version")
		command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), agenttest.Version(t, name)) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	for _, name := range []string{"claude-acp", "codex-acp"} {
		agenttest.Binary(t, name)
	}
}

// A missing binary fails with the command that installs it; it never skips.
func TestAMissingBinaryNamesTheRemedy(t *testing.T) {
	t.Setenv("HARNESS_CACHE", t.TempDir())
	t.Setenv(outside.Variable, "")
	if text, want := why(t, "gemini"), filepath.Join("scripts", "agents.sh")+" gemini"; !strings.Contains(text, want) {
		t.Errorf("it failed with %q, without %q", text, want)
	}
	if text := why(t, "cursor"); !strings.Contains(text, "cursor") {
		t.Errorf("it failed with %q", text)
	}
}
