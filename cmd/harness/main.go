// Command harness is the control plane for coding-agent runtimes: one binary that serves, migrates and tells about itself.
//
// It is the only place that wires rooms together. It must never hold a rule of its own: those live in the rooms.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(execute()) }

// execute runs the process's own command line. The first SIGINT or SIGTERM asks for an orderly end; from then on they have their usual
// effect, so a second one ends a process whose orderly end takes too long.
func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}
