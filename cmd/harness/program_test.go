package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// detectInAll puts every server of a test run with -race under the race detector, not only those of withRaceDetector.
const detectInAll = "HARNESS_TEST_RACE_ALL"

// withRaceDetector runs the site's servers under the race detector when the tests run under it. Only tests that do much
// at once ask for it: the detector multiplies the CPU time of a server, and most tests show what a server does and
// would find no race another does not.
func withRaceDetector() siteOption { return func(o *siteOptions) { o.detect = true } }

// program is what a site runs as the server: the test binary, or in a test binary under the race detector the program
// as users run it.
func program(t testing.TB, detect bool) string {
	t.Helper()
	if detect || !underRace {
		return os.Args[0]
	}
	path, err := plainProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// plainProgram is built once per test run.
var plainProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(plainFolder(), "harness")
	if err := os.Mkdir(plainFolder(), 0o755); err != nil { //nolint:gosec // for servers of other users, too
		return "", err
	}
	return path, goBuild("../..", "./cmd/harness", path)
})

// goBuild builds a package of a source folder as it ships, and as `make test` vets, so that nothing is compiled twice.
func goBuild(source, pkg, path string, flags ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-o", path},
		append(flags, pkg)...)...)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// plainFolder is this test run's own.
func plainFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("harness-test-%d", os.Getpid()))
}

func removePlainProgram() error { return os.RemoveAll(plainFolder()) }
