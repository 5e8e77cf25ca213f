package runtimetest

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"harness/internal/runtime/process/shim"
)

// Shims is a folder for shims which the test binary plays when it is called with the argument given; what is left there
// at the end is ended.
func Shims(t *testing.T, argument string) *shim.Host {
	t.Helper()
	host := &shim.Host{RunDir: filepath.Join(t.TempDir(), "run"), Command: []string{Executable(t), argument},
		Version: "test"}
	t.Cleanup(func() {
		found, err := shim.Discover(host.RunDir)
		if err != nil {
			t.Error(err)
		}
		for _, f := range found {
			if _, _, err := shim.Reap(context.Background(), f); err != nil {
				t.Error(err)
			}
		}
	})
	return host
}

// PlayShim makes a test binary that was called with the argument of Shims a shim, and reports whether it was.
// TestMain begins with it.
func PlayShim(argument string) bool {
	if len(os.Args) < 3 || os.Args[1] != argument {
		return false
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if shim.Run(ctx, os.Args[2], os.NewFile(3, "ready")) != nil {
		os.Exit(1)
	}
	return true
}

// Executable is the test binary.
func Executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
