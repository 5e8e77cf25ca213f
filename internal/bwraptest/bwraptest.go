// Package bwraptest finds bubblewrap for tests.
package bwraptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Binary is the path of bubblewrap's program. Where there is none the test fails with the remedy.
func Binary(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("bwrap"); err == nil {
		return path
	}
	cache := os.Getenv("HARNESS_CACHE")
	for dir := workingDirectory(t); cache == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			cache = filepath.Join(dir, ".cache")
		}
	}
	path := filepath.Join(cache, "bwrap", "bwrap")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("bubblewrap is missing; run scripts/bwrap.sh, or install it (Debian, as root: apt-get install bubblewrap): %v", err)
	}
	return path
}

func workingDirectory(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
