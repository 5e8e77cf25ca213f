// Command harness is the control plane for coding-agent runtimes: one binary that serves, migrates and tells about
// itself.
//
// It is the only place that wires packages together. It must never hold a rule of its own: those live in the packages.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(execute(furtherRuntimes()...)) }

// execute runs the process's own command line. The first SIGINT, SIGTERM or SIGHUP (the terminal is gone; with
// nohup it stays ignored) asks for an orderly end; from then on they have their usual effect, so a second one ends a
// process whose orderly end takes too long. Further runtimes are driven besides those of runtimeTable.
func execute(further ...runtimeMaker) int {
	ctx, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-signals:
			signal.Stop(signals) // before anybody is told to hurry
			end()
		case <-ctx.Done():
		}
	}()
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, further...)
	end()
	<-watched
	return code
}
