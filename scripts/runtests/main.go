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
	"sync"
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
	r := &report{out: out, verbose: slices.Contains(command, "-v"), leftOut: map[string]int{}}
	defer r.summarize(slowest)
	return r.testAll(dir, passes)
}

// testAll runs the passes in order. A pass begins when one package of the pass before is left, because that package
// alone would leave processors idle.
func (r *report) testAll(dir string, passes []pass) (code int, err error) {
	type end struct {
		code int
		err  error
	}
	var running []chan end
	for _, one := range passes {
		last, ended := make(chan struct{}), make(chan end, 1)
		go func() {
			code, err := r.test(dir, one, sync.OnceFunc(func() { close(last) }))
			ended <- end{code, err}
		}()
		running = append(running, ended)
		if <-last; r.stopped.Load() {
			break
		}
	}
	for _, ended := range running {
		e := <-ended
		code, err = max(code, e.code), errors.Join(err, e.err)
	}
	if r.stopped.Load() {
		code = 1
	}
	return code, err
}

// test runs one pass and returns its exit code. It calls last when at most one package is left, and sets stopped when
// no other pass may begin.
func (r *report) test(dir string, one pass, last func()) (code int, err error) {
	defer last()
	//nolint:gosec // the caller's command
	test := exec.Command("go", slices.Concat([]string{"test", "-json"}, one.flags, one.packages)...)
	test.Dir, test.Stderr, test.Env = dir, os.Stderr, append(os.Environ(), one.env...)
	events, err := test.StdoutPipe()
	if err != nil {
		r.stopped.Store(true)
		return 0, err
	}
	// A terminal signals go test, too. Its last output is still read.
	signals, stopped := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := test.Start(); err != nil {
		signal.Stop(signals)
		r.stopped.Store(true)
		return 0, err
	}
	go func() {
		defer close(stopped)
		for received := range signals {
			r.stopped.Store(true)
			if received == syscall.SIGTERM {
				_ = test.Process.Signal(received) // it may have ended
			}
		}
	}()
	lines, reading := bufio.NewReader(events), reading{report: r, packages: map[string]*packageRun{}}
	for {
		if reading.ended >= len(one.packages)-1 && len(one.packages) > 0 {
			last()
		}
		line, err := lines.ReadBytes('\n')
		reading.read(line)
		if err != nil {
			break // the end of the output; Wait returns why
		}
	}
	err = test.Wait()
	signal.Stop(signals)
	close(signals)
	<-stopped
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		r.stopped.Store(true)
	}
	return 0, err
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// read handles a line. It prints a line that is not an event unchanged.
func (r *reading) read(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
