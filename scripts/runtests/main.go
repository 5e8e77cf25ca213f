// Command runtests runs a go test command and adds a summary: the failed tests, what was left out, and the slowest tests.
//
// It owns the summary. It must never change what go test runs; its exit code is that of go test.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	slowest := flag.Int("slowest", 20, "how many of the slowest tests to print")
	flag.Parse()
	code, err := run(".", flag.Args(), *slowest, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		code = 1
	}
	os.Exit(code)
}

// run runs command, which begins with "go test", in dir, and writes its output and the summary.
func run(dir string, command []string, slowest int, out io.Writer) (code int, err error) {
	if len(command) < 2 || command[0] != "go" || command[1] != "test" {
		return 0, errors.New("the command is not go test: use runtests [-slowest N] go test PACKAGES")
	}
	r := &report{out: out, verbose: slices.Contains(command, "-v"), packages: map[string]*packageRun{}, leftOut: map[string]int{}}
	test := exec.Command("go", slices.Concat([]string{"test", "-json"}, command[2:])...) //nolint:gosec // the caller's command
	test.Dir, test.Stderr = dir, os.Stderr
	events, err := test.StdoutPipe()
	if err != nil {
		return 0, err
	}
	// A terminal signals go test, too. Its last words are still read.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := test.Start(); err != nil {
		return 0, err
	}
	go func() {
		for received := range signals {
			if received == syscall.SIGTERM {
				_ = test.Process.Signal(received) // it may have ended
			}
		}
	}()
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		r.read(line)
		if err != nil {
			break // the end of the output; Wait returns why
		}
	}
	err = test.Wait()
	r.summarize(slowest)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// read handles a line. One that is no event is printed as it is.
func (r *report) read(line []byte) {
	var e event
	if len(line) == 0 {
		return
	}
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		r.print(string(line))
		return
	}
	r.handle(e)
}
