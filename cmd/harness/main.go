// Command harness is the control plane for coding-agent runtimes: one binary that serves, migrates and reports about
// itself.
//
// It is the only place that wires packages together. It must never hold a rule of its own: those live in the packages.
package main

import (
	"context"
	"errors"
	"harness/server"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// errInterrupted is why the context of a command ends with SIGINT.
var errInterrupted = errors.New("interrupted")

func main() { os.Exit(execute(server.FurtherRuntimes()...)) }

// execute runs the process's own command line. The first SIGINT, SIGTERM or SIGHUP (the terminal is gone; with
// nohup it stays ignored) asks for an orderly end; from then on they have their usual effect, so a second one ends a
// process whose orderly end takes too long. A command that has not said endsItself ends by itself soon after the first one,
// whatever it waits for: a file, a pipe or a lock does not know of the signal. Further runtimes are driven besides those
// of runtimeTable.
func execute(further ...server.RuntimeMaker) int {
	var itself atomic.Bool
	ctx, end := context.WithCancelCause(context.WithValue(context.Background(), endingKey{}, &itself))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case got := <-signals:
			signal.Stop(signals) // before parts are made to hurry
			if number, is := got.(syscall.Signal); is && !itself.Load() {
				time.AfterFunc(endWait, func() { os.Exit(128 + int(number)) })
			}
			if got == os.Interrupt {
				end(errInterrupted)
			}
			end(nil)
		case <-ctx.Done():
		}
	}()
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, further...)
	end(nil)
	<-watched
	return code
}

// endWait is how long a command has to put things in order after a signal.
const endWait = 7 * time.Second

// endingKey is of what a command says about its end, in its context.
type endingKey struct{}

// endsItself says that the command whose context this is ends in its own time after a signal.
func endsItself(ctx context.Context) {
	if itself, is := ctx.Value(endingKey{}).(*atomic.Bool); is {
		itself.Store(true)
	}
}
