package runtime_test

import (
	"testing"

	"harness/internal/runtime"
)

func TestNewer(t *testing.T) {
	t.Parallel()
	tested := []string{"0.101.0", "0.171.0"}
	for version, newer := range map[string]bool{
		"0.171.1": true, "0.172.0": true, "1.0.0": true, "codex-cli 0.200.1": true, "0.171.0": false, "0.170.9": false,
		"0.99.0": false, "": false, "main": false, "99999999999999999999.0.0": false,
	} {
		if got := runtime.Newer(version, tested); got != newer {
			t.Errorf("%q is newer: %t", version, got)
		}
	}
	if runtime.Newer("1.0.0", nil) {
		t.Error("a version is newer than none")
	}
}
