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

// Shims returns a host for shims. The test binary runs as a shim when it is called with the argument. At the end,
// Shims ends the remaining shims.
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

// PlayShim runs a shim if the test binary was called with the argument of Shims, and reports whether it did. TestMain
// starts with it.
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

// Executable returns the path of the test binary.
func Executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
