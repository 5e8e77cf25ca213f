// Command harness is the control plane for coding-agent runtimes: one binary that serves, migrates and reports about
// itself.
//
// It owns the commands, their flags and their output. It must never wire a server, which package server does, or hold
// rules of its own: those belong to the packages.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"harness/server"
)

// errInterrupted is the cause with which SIGINT ends the context of a command.
var errInterrupted = errors.New("interrupted")

func main() { os.Exit(execute(server.FurtherRuntimes()...)) }

// execute runs the process's own command line. The first SIGINT, SIGTERM or SIGHUP (the terminal closed; with nohup it
// stays ignored) requests an orderly end. After that the signals have their default effect, so a second one ends a
// process whose orderly end takes too long. A command that has not called endsItself is ended soon after the first
// signal, whatever it waits for: a wait for a file, a pipe or a lock does not notice the signal. The server supports
// the further runtimes besides its own.
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
			signal.Stop(signals) // before the parts have to hurry
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

// endWait is the time that a command has to clean up after a signal.
const endWait = 7 * time.Second

// endingKey is the context key under which a command records that it ends itself.
type endingKey struct{}

// endsItself records that the command with this context ends by itself after a signal, without a time limit.
func endsItself(ctx context.Context) {
	if itself, is := ctx.Value(endingKey{}).(*atomic.Bool); is {
		itself.Store(true)
	}
}
