// Command runtests runs a go test command and adds a summary: the failed tests, the skipped tests, and the slowest
// tests.
//
// It owns the summary, and which tests of a command with the race detector run without it (plain.txt). It must never
// leave a test out; its exit code is that of go test.
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
	list := flag.String("plain", "", "the list of what runs without the race detector")
	flag.Parse()
	code, err := run(".", flag.Args(), *list, *slowest, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runtests:", err)
		code = 1
	}
	os.Exit(code)
}

// run runs command, which begins with "go test", in dir, and writes its output and the summary. Tests in a list run
// without the race detector.
func run(dir string, command []string, list string, slowest int, out io.Writer) (code int, err error) {
	if len(command) < 2 || command[0] != "go" || command[1] != "test" {
		return 0, errors.New("the command is not go test: use runtests [-slowest N] [-plain FILE] go test PACKAGES")
	}
	passes := []pass{{flags: command[2:]}}
	if list != "" {
		plain, err := readPlain(list)
		if err != nil {
			return 0, err
		}
		if passes, err = split(dir, command[2:], plain); err != nil {
			return 0, err
		}
	}
	r := &report{out: out, verbose: slices.Contains(command, "-v"), packages: map[string]*packageRun{}, leftOut: map[string]int{}}
	defer r.summarize(slowest)
	for _, one := range passes {
		ended, err := r.test(dir, one)
		if err != nil || ended < 0 {
			return 1, err
		}
		code = max(code, ended)
	}
	return code, nil
}

// test runs one pass and returns its exit code, below 0 when a signal ended it.
func (r *report) test(dir string, one pass) (code int, err error) {
	//nolint:gosec // the caller's command
	test := exec.Command("go", slices.Concat([]string{"test", "-json"}, one.flags, one.packages)...)
	test.Dir, test.Stderr, test.Env = dir, os.Stderr, append(os.Environ(), one.env...)
	events, err := test.StdoutPipe()
	if err != nil {
		return 0, err
	}
	// A terminal signals go test, too. Its last output is still read.
	signals, stopped := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := test.Start(); err != nil {
		signal.Stop(signals)
		return 0, err
	}
	interrupted := false
	go func() {
		defer close(stopped)
		for received := range signals {
			interrupted = true
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
	signal.Stop(signals)
	close(signals)
	<-stopped
	var exit *exec.ExitError
	switch {
	case interrupted:
		return -1, nil
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// read handles a line. It prints a line that is not an event unchanged.
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
