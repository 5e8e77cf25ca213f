package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"harness/internal/mcptest"
)

// runAsHarness makes the test binary behave as the harness command: so end-to-end tests kill and restart a real process, which carries the
// race detector if the test binary does.
const runAsHarness = "HARNESS_TEST_RUN_AS_HARNESS"

// runAsMCP makes the test binary the MCP server codex starts.
const runAsMCP = "HARNESS_TEST_RUN_AS_MCP"

func TestMain(m *testing.M) {
	if os.Getenv(runAsMCP) != "" {
		if err := mcptest.Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	if os.Getenv(runAsHarness) != "" {
		os.Exit(execute())
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := removePlainProgram(); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}
