// Package docs has the documentation. Its test builds the site that is made of it.
package docs

import (
	"os"
	"os/exec"
	"testing"
)

// TestTheSiteOfTheDocumentation runs the tests of scripts/site, a module of its own. They build the site of these pages, and a link
// that leads nowhere fails them.
func TestTheSiteOfTheDocumentation(t *testing.T) {
	t.Parallel()
	tests := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-count=1", ".")
	tests.Dir, tests.Env = "../scripts/site", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
