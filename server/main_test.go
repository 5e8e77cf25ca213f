package server

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"harness/internal/runtime/process/confine"
	"harness/tests/runtimetest/scripted"
)

// TestMain lets the test binary act as the stages that a server starts from its own program, and as the scripted agent.
func TestMain(m *testing.M) {
	if scripted.Play() {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == ConfineCommand {
		exit(confine.Run(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == TryConfineCommand {
		exit(confine.Try(context.Background(), []string{os.Args[0], ConfineCommand}))
	}
	goleak.VerifyTestMain(m)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
