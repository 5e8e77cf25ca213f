package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// repository returns the folder of the product's source.
func repository() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(root, "cmd", "harness")); err != nil {
		root = "../.." // built with -trimpath
	}
	return filepath.Abs(root)
}

// buildServer builds the product as `make build` does.
func buildServer(dir string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "harness")
	build := exec.Command("go", "build", "-o", out, "./cmd/harness")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, text)
	}
	return out, nil
}

// child is a server process under test.
type child struct {
	cmd *exec.Cmd
	url string
	log string
}

func startChild(dir, name string, env []string, url string, path string, args ...string) (*child, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = env, log, log, dir
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, url: url, log: log.Name()}
	deadline := time.Now().Add(30 * time.Second)
	for {
		answer, err := http.Get(url + "/api/ready")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return c, nil
			}
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(c.log)
			c.stop()
			return nil, fmt.Errorf("%s did not come up: %v\n%s", name, err, tail(text))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func tail(text []byte) []byte { return text[max(0, len(text)-3000):] }

// stop stops the process and waits for its end.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		_ = c.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		_ = c.cmd.Process.Kill()
		<-done
	}
}

// cpu returns the user and system time of the process so far.
func (c *child) cpu() time.Duration { return processCPU(c.cmd.Process.Pid) }

// errNoClock means that the clock of a server that did work shows none.
var errNoClock = errors.New("the CPU time of the server cannot be read: did it end?")

// processCPU returns the CPU time of a process so far, for all its threads, current and ended. It reads the kernel's
// clock of that process, exact to the nanosecond. /proc/<pid>/stat has the same in ticks of 10 ms, and a second of
// bursts has only eight of them. It is 0 if the process has ended.
func processCPU(pid int) time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED; the rest of the number is clock_getcpuclockid(3)'s
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &used); err != nil {
		return 0
	}
	return time.Duration(used.Nano())
}

// endedCPU returns the CPU time of a process's ended children, in ticks of 10 ms.
func endedCPU(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go supports
	ticks := func(i int) time.Duration {
		n, _ := strconv.Atoi(string(fields[i]))
		return time.Duration(n) * tick
	}
	return ticks(13) + ticks(14)
}

// rss returns the resident memory in bytes.
func (c *child) rss() int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// freePort finds a port for a child that needs a port number.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("no TCP address")
	}
	return address.Port, nil
}
