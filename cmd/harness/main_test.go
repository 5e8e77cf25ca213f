package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// runAsHarness makes the test binary behave as the harness command: so end-to-end tests kill and restart a real process that carries the
// race detector.
const runAsHarness = "HARNESS_TEST_RUN_AS_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(runAsHarness) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
