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

// detectInAll runs every server of a -race test run under the race detector, not only those with WithRaceDetector.
const detectInAll = "HARNESS_TEST_RACE_ALL"

// runAsMCP makes the test binary act as the MCP server that codex starts.
const runAsMCP = "HARNESS_TEST_RUN_AS_MCP"

// Main is the TestMain of a package of end-to-end tests. It fails if a goroutine outlives its test.
func Main(m *testing.M) {
	if os.Getenv(runAsMCP) != "" {
		if err := mcptest.Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// WithRaceDetector runs the site's servers under the race detector when the tests run under it. Only tests with much
// concurrency use it, because the detector multiplies a server's CPU time. Most tests exercise code that others
// already cover and would find no new race. A test on both engines needs it on one only. engines lists the engines
// that use it; without any, all do.
func WithRaceDetector(engines ...database.Engine) SiteOption {
	if len(engines) == 0 {
		engines = []database.Engine{database.SQLite, database.Postgres}
	}
	return func(o *siteOptions) { o.detect = engines }
}

// WithScripted lets the site's servers run the scripted agent in addition to the usual ones.
func WithScripted() SiteOption { return func(o *siteOptions) { o.scripted = true } }

// Program returns the path of the program as users run it.
func Program(t testing.TB) string {
	t.Helper()
	return programFor(t, false, false)
}

// programFor returns the path of the program as users run it, or of a build that can run the scripted agent, with or
// without the race detector.
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

// The builds of the program. Each is built once, with the flags of `make test`, so that nothing is compiled twice.
var (
	shipped         = sync.OnceValues(func() (string, error) { return buildProgram("harness", false) })
	shippedScripted = sync.OnceValues(func() (string, error) {
		return buildProgram("harness-scripted", false, "-tags=scripted")
	})
	detecting = sync.OnceValues(func() (string, error) {
		return buildProgram("harness-race", true, "-tags=scripted", "-gcflags=modernc.org/sqlite/lib=-race=false",
			"-gcflags=modernc.org/libquickjs=-race=false", "-gcflags=modernc.org/libc/...=-race=false",
			"-gcflags=modernc.org/memory=-race=false")
	})
)

// buildProgram builds the program below the module, where the tests of other packages find it. It does not rebuild
// the same sources.
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

// alone runs a function while no other process runs one for the same folder.
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

// Build builds a package of a source folder with the flags of a release and of `make test`, so that nothing is
// compiled twice.
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
