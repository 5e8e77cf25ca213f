package programtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is one running server process.
type Server struct {
	*Site
	Cmd    *exec.Cmd
	URL    string
	Ready  chan string
	Exited chan struct{}
	// Headers are added to each request of Call, Try and Want.
	Headers map[string]string
	mu      sync.Mutex
	text    bytes.Buffer
	// connections end with the process. For each new connection, a server with agents scans the machine's processes.
	connections http.Transport
	reached     sync.Once
}

// Start starts a server and waits until it is ready for requests.
func (s *Site) Start(env ...string) *Server {
	s.T.Helper()
	return s.StartBinary(s.Program, env...)
}

// StartBinary is Start for another build of the program.
func (s *Site) StartBinary(binary string, env ...string) *Server {
	s.T.Helper()
	i := s.Launch(binary, env...)
	i.AwaitReady()
	return i
}

// Launch starts a server and does not wait for it.
func (s *Site) Launch(binary string, env ...string) *Server {
	s.T.Helper()
	cmd := exec.Command(binary, "serve")
	cmd.Env = slices.Concat(s.consent(), s.Environ(), env)
	cmd.Dir = s.Workspace
	if s.User != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(s.User), Gid: uint32(s.User)}} //nolint:gosec // an id
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	start := cmd.Start
	if s.Host != nil {
		start = func() error { return s.Host.Inside(cmd.Start) }
	}
	if err := start(); err != nil {
		s.T.Fatal(err)
	}
	i := &Server{Site: s, Cmd: cmd, Ready: make(chan string, 1), Exited: make(chan struct{})}
	go func() {
		defer close(i.Exited)
		defer i.connections.CloseIdleConnections()
		i.ReadLog(stderr)
		_ = cmd.Wait()
	}()
	s.T.Cleanup(func() {
		i.Kill()
		if s.T.Failed() {
			s.T.Logf("server log:\n%s", i.LogTail())
		}
	})
	return i
}

// consent makes all servers of a site except the first trust programs of the machine. Each server has a different
// port (PORT=0), and the runtimes that it adopts are not fenced off from that port. A server with a fixed port then
// requires no token.
func (s *Site) consent() []string {
	if s.launched != nil && s.launched.Swap(true) {
		return []string{"HARNESS_TRUST_LOCAL=true"}
	}
	return nil
}

// Environ returns the environment of a server or command that sees no other server.
func (s *Site) Environ() []string {
	s.T.Helper()
	return append([]string{"XDG_RUNTIME_DIR=" + s.runtimeDir()}, s.Env...)
}

// runtimeDir returns a folder in which one server registers its ports. Servers see each other only if a test gives
// them the same XDG_RUNTIME_DIR.
func (s *Site) runtimeDir() string {
	s.T.Helper()
	folder := s.T.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { //nolint:gosec // for the site's user
		s.T.Fatal(err)
	}
	if s.User != os.Geteuid() {
		if err := os.Chown(folder, s.User, s.User); err != nil {
			s.T.Fatal(err)
		}
	}
	return folder
}

// AwaitReady waits until the server is ready for requests.
func (i *Server) AwaitReady() {
	i.T.Helper()
	select {
	case i.URL = <-i.Ready:
	case <-i.Exited:
		i.T.Fatalf("the server ended at start:\n%s", i.LogTail())
	case <-time.After(Patience):
		i.T.Fatalf("the server did not get ready:\n%s", i.LogTail())
	}
}

// AwaitRuntime waits until the server reports ready, which requires a runtime.
func (i *Server) AwaitRuntime() {
	i.T.Helper()
	i.Eventually("it is ready for work", func() bool {
		status, _ := i.Call(http.MethodGet, "/readyz", nil)
		return status == http.StatusOK
	})
}

// isServing recognizes the log line of a serving server, in this and earlier releases.
func isServing(message string) bool {
	return strings.HasPrefix(message, "harness is serving") || strings.HasPrefix(message, "harness is ready")
}

// ReadLog reads the server's log to its end.
func (i *Server) ReadLog(stderr io.Reader) {
	reader := bufio.NewReader(stderr)
	for {
		line, err := reader.ReadBytes('\n')
		i.mu.Lock()
		i.text.Write(line)
		i.mu.Unlock()
		var entry struct{ URL, Message string }
		if json.Unmarshal(line, &entry) == nil && isServing(entry.Message) {
			i.Ready <- entry.URL
		}
		if err != nil {
			return
		}
	}
}

// Log returns everything that the server has logged.
func (i *Server) Log() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text.String()
}

// LogTail returns the end of the server's log. It is short, so that the failure remains visible where only the end of
// a run's output is kept.
func (i *Server) LogTail() string {
	all := i.Log()
	return all[max(0, len(all)-4_000):]
}

// Logged reports whether one line of the server's log contains all the words.
func (i *Server) Logged(words ...string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for line := range strings.Lines(i.text.String()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return true
		}
	}
	return false
}

// Kill ends the server with SIGKILL and waits for its exit.
func (i *Server) Kill() {
	_ = i.Cmd.Process.Kill()
	<-i.Exited
}

// Stop ends the server with SIGTERM and checks that it exits with success and in time.
func (i *Server) Stop() {
	i.T.Helper()
	i.StopBy(syscall.SIGTERM)
}

// StopBy is Stop with another signal.
func (i *Server) StopBy(signal syscall.Signal) {
	i.T.Helper()
	if err := i.Cmd.Process.Signal(signal); err != nil {
		i.T.Fatal(err)
	}
	select {
	case <-i.Exited:
	case <-time.After(Patience):
		i.T.Fatalf("the server did not stop:\n%s", i.LogTail())
	}
	if code := i.Cmd.ProcessState.ExitCode(); code != 0 {
		i.T.Fatalf("the server ended with %d:\n%s", code, i.LogTail())
	}
}
