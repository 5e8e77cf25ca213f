package stdio_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/stdio"
)

// A runtime must not clean up the folder of a shim that another runtime is starting, even if it checks early. It
// cleans up such a folder of a dead server.
func TestAShimThatIsBeingStartedIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const old = "019a0000-0000-7000-8000-000000000001" // of 2025
	for _, generation := range []string{old, uuid.Must(uuid.NewV7()).String()} {
		if err := os.Mkdir(filepath.Join(dir, generation), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	found := stdio.NewLauncher(stdio.Launch{Name: "claude", Shims: &shim.Host{RunDir: dir}}).Found()
	if len(found) != 1 || found[0].Generation != old {
		t.Errorf("to be cleaned up are %+v", found)
	}
}
