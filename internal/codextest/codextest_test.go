package codextest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/codextest"
)

// failing is a test that remembers why it failed instead of failing.
type failing struct {
	testing.TB
	why string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.why = fmt.Sprintf(format, args...)
	panic(f)
}

func why(t *testing.T, run func(testing.TB)) (text string) {
	t.Helper()
	f := &failing{TB: t}
	defer func() {
		if recover() == nil {
			t.Error("it did not fail")
		}
		text = f.why
	}()
	run(f)
	return ""
}

func TestBinariesAreThePinnedVersions(t *testing.T) {
	t.Parallel()
	for _, version := range codextest.Versions() {
		out, err := exec.Command(codextest.Binary(t, version), "--version").Output()
		if err != nil || !strings.Contains(string(out), codextest.Number(t, version)) {
			t.Errorf("%s: %s, %v", version, out, err)
		}
	}
}

// A missing binary fails with the command that installs it; it never skips.
func TestMissingBinaryNamesTheRemedy(t *testing.T) {
	t.Setenv("HARNESS_CACHE", t.TempDir())
	text := why(t, func(t testing.TB) { codextest.Binary(t, codextest.Default) })
	if want := filepath.Join("scripts", "codex.sh") + " " + codextest.Number(t, codextest.Default); !strings.Contains(text, want) {
		t.Errorf("it failed with %q, without %q", text, want)
	}
	if text := why(t, func(t testing.TB) { codextest.Number(t, "newest") }); !strings.Contains(text, "newest") {
		t.Errorf("it failed with %q", text)
	}
}

func TestHomeTakesItsOptions(t *testing.T) {
	t.Parallel()
	home := codextest.Home(t, "http://127.0.0.1:1/v1", codextest.For(codextest.Oldest), codextest.Approval("never"),
		codextest.Sandbox("read-only"), codextest.Config("[tools]\nweb_search = false"))
	raw, err := os.ReadFile(filepath.Join(home, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`model = "gpt-5.2-codex"`, `approval_policy = "never"`, `sandbox_mode = "read-only"`, `base_url = "http://127.0.0.1:1/v1"`, "[tools]\nweb_search = false",
	} {
		if !strings.Contains(string(raw), line+"\n") {
			t.Errorf("%q is missing in:\n%s", line, raw)
		}
	}
}
