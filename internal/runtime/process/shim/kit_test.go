package shim_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
	"harness/tests/polling"
)

// runVariable makes the test binary a shim; the folder is its argument.
const runVariable = "HARNESS_TEST_RUN_AS_SHIM"

// patience bounds every wait; the machine may be busy.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == attackArgument {
		os.Exit(attack(os.Args[2], os.Args[3]))
	}
	if os.Getenv(runVariable) != "" {
		os.Exit(runShim(os.Args[len(os.Args)-1]))
	}
	goleak.VerifyTestMain(m)
}

func runShim(dir string) int {
	ctx, stop := signalContext()
	defer stop()
	if shim.Run(ctx, dir, os.NewFile(3, "ready")) != nil {
		return 1
	}
	return 0
}

// place is one data directory's run folder.
type place struct {
	t    testing.TB
	host shim.Host
	mark string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	p := &place{t: t, mark: process.Marker(dir, "test"),
		host: shim.Host{RunDir: dir, Command: []string{os.Args[0]}, Version: "test"}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := process.Sweep(ctx, p.mark); err != nil {
			t.Error(err)
		}
	})
	return p
}

// sh starts a shell script behind a shim.
func (p *place) sh(script string, change func(*shim.Spec)) *shim.Attached {
	p.t.Helper()
	return p.start(script, nil, change)
}

// start is sh with a callback for the runtime's stderr.
func (p *place) start(script string, stderr func([]byte), change func(*shim.Spec)) *shim.Attached {
	p.t.Helper()
	spec := shim.Spec{Generation: uuid.Must(uuid.NewV7()).String(), Runtime: "test", Path: "/bin/sh",
		Args: []string{"-c", script}, Marker: p.mark, StopGrace: 200 * time.Millisecond, DetachGrace: time.Minute}
	if change != nil {
		change(&spec)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := p.host.Spawn(ctx, spec, append(os.Environ(), runVariable+"=1"), stderr)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

func (p *place) found() []shim.Found {
	p.t.Helper()
	all, err := shim.Discover(p.host.RunDir)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *place) attach(from int64) *shim.Attached {
	p.t.Helper()
	all := p.found()
	if len(all) != 1 {
		p.t.Fatalf("%d shims, want 1", len(all))
	}
	a, err := shim.Attach(p.t.Context(), all[0], from, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// left returns the live processes of the place.
func (p *place) left() []int {
	p.t.Helper()
	pids, err := process.Marked(p.mark)
	if err != nil {
		p.t.Fatal(err)
	}
	return pids
}

// end reads the rest, releases, and checks that nothing is left.
func (p *place) end(a *shim.Attached) string {
	p.t.Helper()
	rest, err := io.ReadAll(a)
	if err != nil {
		p.t.Fatal(err)
	}
	a.Release()
	a.Forget()
	p.eventually("nothing is left", func() bool { return len(p.left()) == 0 })
	if all := p.found(); len(all) != 0 {
		p.t.Errorf("folders are left: %v", all)
	}
	return string(rest)
}

func (p *place) eventually(what string, ok func() bool) {
	p.t.Helper()
	if !polling.Until(patience, ok) {
		p.t.Fatalf("never: %s", what)
	}
}

func line(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	text, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("read a line: %v (%q)", err, text)
	}
	return strings.TrimSuffix(text, "\n")
}

func write(t testing.TB, a *shim.Attached, key, text string) {
	t.Helper()
	if _, err := a.WriteOnce(key, []byte(text+"\n")); err != nil {
		t.Fatal(err)
	}
}
