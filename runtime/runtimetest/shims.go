package runtimetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"harness/runtime/process/shim"
)

// Shims is a folder for shims which the test binary plays when it is called with the argument given; what is left there at the end is ended.
func Shims(t *testing.T, argument string) *shim.Host {
	t.Helper()
	host := &shim.Host{RunDir: filepath.Join(t.TempDir(), "run"), Command: []string{Executable(t), argument}, Version: "test"}
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

// Executable is the test binary.
func Executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
