package runtimetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// runAsProxy is the first argument of a test binary that runs as a proxy. The proxy's folder, the agent and the
// agent's arguments follow.
const runAsProxy = "test-proxy"

// Proxy runs between an adapter and its agent and corrupts the agent's output. So a real agent shows faults that
// otherwise need a failure of the agent or its machine. It works on lines only.
type Proxy struct {
	// Only is the text of a line that Swell may change, for an agent that repeats its output in several forms:
	// alternatives with "|" between them; "" for any line.
	Only string

	dir string
}

// NewProxy makes a proxy that passes on all lines.
func NewProxy(t *testing.T) *Proxy {
	t.Helper()
	return &Proxy{dir: t.TempDir()}
}

// Program returns a program that runs the agent at path behind the proxy. The TestMain of the test binary must start
// with PlayProxy.
func (p *Proxy) Program(t *testing.T, path string) string {
	t.Helper()
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	program := filepath.Join(p.dir, filepath.Base(path))
	text := fmt.Sprintf("#!/bin/sh\nexec %s %s %s %s \"$@\"\n", quoted(Executable(t)), runAsProxy, quoted(p.dir),
		quoted(path))
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

// Cut kills the agent once, after its next line, without the line's end.
func (p *Proxy) Cut(t *testing.T) { p.order(t, "cut", "") }

// Wrote returns the line without an end that Cut wrote, nil before that.
func (p *Proxy) Wrote(t *testing.T) []byte {
	t.Helper()
	line, err := os.ReadFile(filepath.Join(p.dir, "wrote"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return line
}

// Swell makes each later line with the word longer by size bytes, with that many letters in place of the word.
func (p *Proxy) Swell(t *testing.T, word string, size int) {
	p.order(t, "swell", strconv.Itoa(size)+" "+word+" "+p.Only)
}

// order writes an order atomically.
func (p *Proxy) order(t *testing.T, name, text string) {
	t.Helper()
	fresh := filepath.Join(p.dir, "fresh")
	if err := errors.Join(os.WriteFile(fresh, []byte(text), 0o600),
		os.Rename(fresh, filepath.Join(p.dir, name))); err != nil {
		t.Fatal(err)
	}
}

// PlayProxy runs the proxy if the test binary was called as one. It returns after the agent exited, and reports
// whether it ran.
func PlayProxy() bool {
	if len(os.Args) < 4 || os.Args[1] != runAsProxy {
		return false
	}
	dir, agent := os.Args[2], exec.Command(os.Args[3], os.Args[4:]...)
	agent.Stdin, agent.Stderr = os.Stdin, os.Stderr
	out, err := agent.StdoutPipe()
	if err == nil {
		err = agent.Start()
	}
	if err == nil {
		err = errors.Join(spoil(dir, out, agent.Process), agent.Wait())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the agent behind the proxy:", err)
		os.Exit(1)
	}
	return true
}

// spoil passes on an agent's lines according to the orders.
func spoil(dir string, out io.Reader, agent *os.Process) error {
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if _, cut := order(dir, "cut"); cut && err == nil {
			line = line[:len(line)-1]
			_, err = os.Stdout.Write(line)
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, "wrote"), line, 0o600), os.Remove(filepath.Join(dir, "cut")),
				agent.Kill())
			return errors.Join(err, syscall.Kill(os.Getpid(), syscall.SIGKILL))
		}
		if text, swell := order(dir, "swell"); swell {
			parts := strings.SplitN(text, " ", 3)
			// Swell wrote it
			if size, _ := strconv.Atoi(parts[0]); slices.ContainsFunc(strings.Split(parts[2], "|"), func(one string) bool {
				return bytes.Contains(line, []byte(one))
			}) {
				line = bytes.Replace(line, []byte(parts[1]), bytes.Repeat([]byte("w"), size), 1)
			}
		}
		if _, failed := os.Stdout.Write(line); failed != nil {
			return failed
		}
		if errors.Is(err, io.EOF) {
			return nil // it is gone, and so is its last output
		}
		if err != nil {
			return err
		}
	}
}

func order(dir, name string) (text string, given bool) {
	content, err := os.ReadFile(filepath.Join(dir, name))
	return string(content), err == nil
}
