package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// runAsHarness makes the test binary behave as the harness command: so end-to-end tests kill and restart a real process that carries the
// race detector.
const runAsHarness = "HARNESS_TEST_RUN_AS_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(runAsHarness) != "" {
		os.Exit(execute())
	}
	goleak.VerifyTestMain(m)
}
