package codextest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/codextest"
)

func TestHomeTakesItsOptions(t *testing.T) {
	t.Parallel()
	home := codextest.Home(t, "http://127.0.0.1:1/v1", codextest.For(codextest.Oldest), codextest.Approval("never"),
		codextest.Sandbox("read-only"), codextest.Config("[tools]\nweb_search = false"))
	raw, err := os.ReadFile(filepath.Join(home, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`model = "gpt-5.2-codex"`, `approval_policy = "never"`, `sandbox_mode = "read-only"`,
		`base_url = "http://127.0.0.1:1/v1"`, "[tools]\nweb_search = false",
	} {
		if !strings.Contains(string(raw), line+"\n") {
			t.Errorf("%q is missing in:\n%s", line, raw)
		}
	}
}
