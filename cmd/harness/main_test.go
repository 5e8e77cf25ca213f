package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"harness/server"
	"harness/tests/runtimetest/scripted"
)

func TestMain(m *testing.M) {
	if scripted.Play() {
		return
	}
	if startedByServer() {
		os.Exit(execute())
	}
	goleak.VerifyTestMain(m)
}

// startedByServer reports whether the test binary runs as a shim or a stage, whose environment may be only its
// runtime's.
func startedByServer() bool {
	return len(os.Args) > 1 && (os.Args[1] == "shim" || os.Args[1] == server.ConfineCommand || os.Args[1] == server.TryConfineCommand ||
		os.Args[1] == server.BridgeCommand || os.Args[1] == server.RunToolCommand)
}
