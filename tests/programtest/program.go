package programtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"harness/internal/platform/database"
	"harness/tests/mcptest"
)

// detectInAll puts every server of a test run with -race under the race detector, not only those of withRaceDetector.
const detectInAll = "HARNESS_TEST_RACE_ALL"

// runAsMCP makes the test binary the MCP server codex starts.
const runAsMCP = "HARNESS_TEST_RUN_AS_MCP"

// Main is the TestMain of a package of end-to-end tests: none of its goroutines outlives its tests.
func Main(m *testing.M) {
	if os.Getenv(runAsMCP) != "" {
		if err := mcptest.Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// WithRaceDetector runs the site's servers under the race detector when the tests run under it. Only tests that do much
// at once ask for it: the detector multiplies the CPU time of a server, and most tests show what a server does and
// would find no race another does not. Of a test on both engines one run under it is enough: named engines are those
// under it, without any all are.
func WithRaceDetector(engines ...database.Engine) SiteOption {
	if len(engines) == 0 {
		engines = []database.Engine{database.SQLite, database.Postgres}
	}
	return func(o *siteOptions) { o.detect = engines }
}

// WithScripted lets the site's servers drive the scripted agent besides those of users.
func WithScripted() SiteOption { return func(o *siteOptions) { o.scripted = true } }

// Program is the program as users run it.
func Program(t testing.TB) string {
	t.Helper()
	return programFor(t, false, false)
}

// programFor is the program as users run it, one that can drive the scripted agent, or one that can and is under the race
// detector.
func programFor(t testing.TB, detect, scripted bool) string {
	t.Helper()
	built := shipped
	switch {
	case detect:
		built = detecting
	case scripted:
		built = shippedScripted
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The builds of the program, each made once. Their flags are those of `make test`, so that nothing is compiled twice.
var (
	shipped         = sync.OnceValues(func() (string, error) { return buildProgram("harness", false) })
	shippedScripted = sync.OnceValues(func() (string, error) {
		return buildProgram("harness-scripted", false, "-tags=scripted")
	})
	detecting = sync.OnceValues(func() (string, error) {
		return buildProgram("harness-race", true, "-tags=scripted", "-gcflags=modernc.org/sqlite/lib=-race=false",
			"-gcflags=modernc.org/libc/...=-race=false", "-gcflags=modernc.org/memory=-race=false")
	})
)

// buildProgram builds the program below the module, where the tests of other packages find it: what is of the same
// sources is not built again.
func buildProgram(name string, race bool, flags ...string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	module := strings.TrimSpace(string(out))
	path := filepath.Join(module, "bin", "test", name)
	return path, alone(filepath.Dir(path), func() error {
		if race {
			return goTool(module, "CGO_ENABLED=1", append([]string{"build", "-race", "-trimpath=false", "-buildvcs=false", "-o", path},
				append(flags, "./cmd/harness")...)...)
		}
		return Build(module, "./cmd/harness", path, flags...)
	})
}

// alone runs a function while no other process does so in a folder.
func alone(folder string, run func() error) (err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return run()
}

// Build builds a package of a source folder as it ships, and as `make test` vets, so that nothing is compiled twice.
func Build(source, pkg, path string, flags ...string) error {
	return goTool(source, "CGO_ENABLED=0", append([]string{"build", "-trimpath", "-buildvcs=false", "-o", path},
		append(flags, pkg)...)...)
}

func goTool(folder, env string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
