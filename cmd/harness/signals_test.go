package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"harness/tests/programtest"
)

// takeHangups makes commands end at SIGHUP even if the tests run under nohup. Child processes inherit ignored signals,
// but not handled ones.
func takeHangups(t *testing.T) {
	t.Helper()
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(handled) })
}

// A signal ends a command even if it waits for something that does not notice signals. The program never waits for a
// .env that is a pipe.
func TestASignalEndsACommandThatWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	takeHangups(t)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, number := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		command := exec.CommandContext(t.Context(), programtest.Program(t), "replay", pipe)
		command.Dir = dir
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // until it reads
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := command.Process.Signal(number); err != nil {
			t.Fatal(err)
		}
		_ = command.Wait() // after a signal the exit code is not 0
		if code := command.ProcessState.ExitCode(); code != 128+int(number) || time.Since(began) > time.Minute {
			t.Errorf("after %s it ended with %d, after %s", number, code, time.Since(began))
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(pipe, filepath.Join(dir, ".env")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"config", "print"}, {"trust", "--dry-run"}} {
		command := exec.CommandContext(t.Context(), programtest.Program(t), args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v beside a pipe: %v %s", args, err, out)
		}
	}
}
