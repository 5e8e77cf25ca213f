//go:build cluster && linux

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"harness/tests/programtest"
)

// program is the program with switches for its multi-node mechanisms and a movable clock, built once; TestMain removes
// it.
var program = sync.OnceValues(func() (string, error) { return build("harness") })

func build(name string, flags ...string) (string, error) {
	path := filepath.Join(folder(), name)
	overlay, err := movableClock()
	if err != nil {
		return "", err
	}
	return path, programtest.Build("../../..", "./cmd/harness", path, append(flags, "-tags", "cluster", "-overlay", overlay)...)
}

func folder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("harness-cluster-%d", os.Getpid()))
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(folder()); err != nil {
		code = 1
	}
	os.Exit(code)
}

// earlier is the program with another version number, built once.
var earlier = sync.OnceValues(func() (string, error) {
	return build("harness-earlier", "-ldflags", "-X harness/internal/lib/version.program=0.0.1-earlier")
})
