package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"harness/internal/runtime/process"
)

// parentVariable makes the test binary a server with a runtime process, for the test to kill.
const parentVariable = "HARNESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if mark := os.Getenv(parentVariable); mark != "" {
		os.Exit(parent(mark))
	}
	goleak.VerifyTestMain(m)
}

// parent starts a process, prints its id and waits until it is killed.
func parent(mark string) int {
	p, err := process.Start(context.Background(),
		process.Spec{Path: "/bin/sh", Args: []string{"-c", "echo ready; exec sleep 3600"}, Env: os.Environ(), Marker: mark})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := bufio.NewReader(p.Stdout()).ReadString('\n'); err != nil {
		return 1
	}
	fmt.Println(p.PID())
	<-p.Done()
	return 0
}

func shell(t *testing.T, script string, change func(*process.Spec)) *process.Process {
	t.Helper()
	spec := process.Spec{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(),
		Marker: process.Marker(t.TempDir(), "test")}
	if change != nil {
		change(&spec)
	}
	p, err := process.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.Release()
		if _, err := process.Sweep(context.Background(), spec.Marker); err != nil { // what left its group
			t.Error(err)
		}
	})
	return p
}

func TestPipesAndExitCode(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var errs []string
	p := shell(t, `read line; echo "got $line in $PWD"; echo problem >&2; exit 3`, func(s *process.Spec) {
		s.Dir = "/"
		s.Stderr = func(line []byte) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, string(line))
		}
	})
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	// Output from before the end can still be read after it.
	out, err := io.ReadAll(p.Stdout())
	if err != nil || string(out) != "got hello in /\n" {
		t.Errorf("stdout is %q, %v", out, err)
	}
	if exit := p.Exit(); exit.Code == nil || *exit.Code != 3 || exit.Signal != nil || exit.At.IsZero() {
		t.Errorf("exit is %+v", exit)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(errs, []string{"problem"}) {
		t.Errorf("stderr is %q", errs)
	}
}

func TestMissingExecutable(t *testing.T) {
	t.Parallel()
	if _, err := process.Start(t.Context(), process.Spec{Path: "/no/such/file"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := process.Start(ctx, process.Spec{Path: "/bin/true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestStopAsksThenKills(t *testing.T) {
	t.Parallel()
	polite := shell(t, `trap 'exit 4' TERM; echo ready; while :; do sleep 1 & wait; done`, nil)
	ready(t, polite)
	polite.Stop(time.Minute)
	if exit := polite.Exit(); exit.Code == nil || *exit.Code != 4 {
		t.Errorf("polite: %+v", exit)
	}
	stubborn := shell(t, `trap '' TERM; echo ready; while :; do sleep 1; done`, nil)
	ready(t, stubborn)
	stubborn.Stop(10 * time.Millisecond)
	stubborn.Stop(time.Minute)
	if exit := stubborn.Exit(); exit.Signal == nil || *exit.Signal != "SIGKILL" {
		t.Errorf("stubborn: %+v", exit)
	}
}

func ready(t *testing.T, p *process.Process) string {
	t.Helper()
	line, err := bufio.NewReader(p.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestMarkerIsStablePerDirectory(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	link := b + "/link"
	if err := os.Symlink(a, link); err != nil {
		t.Fatal(err)
	}
	if process.Marker(a, "codex") != process.Marker(link, "codex") ||
		process.Marker(a, "codex") != process.Marker(a+"/.", "codex") {
		t.Error("one directory has two marks")
	}
	if process.Marker(a, "codex") == process.Marker(b, "codex") || process.Marker(a, "codex") == process.Marker(a, "other") {
		t.Error("two owners have one mark")
	}
}

func TestStderrIsBounded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	p := shell(t, `head -c 100000 /dev/zero | tr '\0' x >&2; echo >&2; i=0; while [ $i -lt 5000 ]; do echo "line $i"; i=$((i+1)); done >&2`,
		func(s *process.Spec) {
			s.Stderr = func(line []byte) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, string(line))
			}
		})
	<-p.Done()
	mu.Lock()
	defer mu.Unlock()
	dropped := 0
	for i, line := range lines {
		if len(line) > 8<<10 {
			t.Errorf("line %d has %d bytes", i, len(line))
		}
		var n int
		if _, err := fmt.Sscanf(line, "[%d more lines dropped", &n); err == nil {
			dropped += n
			lines[i] = ""
		}
	}
	kept := 0
	for _, line := range lines {
		if line != "" {
			kept++
		}
	}
	if kept+dropped != 5001 || dropped == 0 {
		t.Errorf("%d lines kept and %d dropped", kept, dropped)
	}
}
