package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"harness/internal/mcptest"
	"harness/runtime/runtimetest/scripted"
)

// runAsHarness makes the test binary behave as the harness command: so end-to-end tests kill and restart a real
// process, which carries the race detector if the test binary does.
const runAsHarness = "HARNESS_TEST_RUN_AS_HARNESS"

// runAsMCP makes the test binary the MCP server codex starts.
const runAsMCP = "HARNESS_TEST_RUN_AS_MCP"

// runAsAgent makes the test binary the scripted agent; its value is the agent's folder.
const runAsAgent = "HARNESS_TEST_SCRIPTED_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(runAsMCP) != "" {
		if err := mcptest.Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	if dir := os.Getenv(runAsAgent); dir != "" && !startedByServer() {
		os.Exit(scripted.Agent(os.Stdin, os.Stdout, dir))
	}
	if os.Getenv(runAsHarness) != "" || startedByServer() {
		os.Exit(execute(runtimeMaker{name: scripted.Name, make: newScripted}))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := removePlainProgram(); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

// startedByServer tells that the test binary is a shim or a stage, whose environment may be that of its runtime alone.
func startedByServer() bool {
	return len(os.Args) > 1 && (os.Args[1] == "shim" || os.Args[1] == confineCommand || os.Args[1] == tryConfineCommand ||
		os.Args[1] == bridgeCommand)
}
