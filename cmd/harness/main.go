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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
