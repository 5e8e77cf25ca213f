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
	// Headers go with each request of Call, Try and Want.
	Headers map[string]string
	mu      sync.Mutex
	text    bytes.Buffer
	// connections end with the process. Each new one costs a server with agents a look at the processes of the machine.
	connections http.Transport
	reached     sync.Once
}

// Start runs a server and returns when it is ready for requests.
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

// Launch runs a server and does not wait for it.
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

// consent has all servers of a site but its first trust programs of the machine. Each has another port (PORT=0), from which
// the runtimes that it takes over are not fenced; a server with a port of its own asks for no token then.
func (s *Site) consent() []string {
	if s.launched != nil && s.launched.Swap(true) {
		return []string{"HARNESS_TRUST_LOCAL=true"}
	}
	return nil
}

// Environ is the environment of a server or command that sees no other server.
func (s *Site) Environ() []string {
	s.T.Helper()
	return append([]string{"XDG_RUNTIME_DIR=" + s.runtimeDir()}, s.Env...)
}

// runtimeDir is a folder for one server to register its ports in: it sees no other server unless a test gives several the
// same XDG_RUNTIME_DIR.
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

// AwaitReady returns when the server is ready for requests.
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

// AwaitRuntime waits until the server says that it is ready, which it is once a runtime is.
func (i *Server) AwaitRuntime() {
	i.T.Helper()
	i.Eventually("it is ready for work", func() bool {
		status, _ := i.Call(http.MethodGet, "/readyz", nil)
		return status == http.StatusOK
	})
}

// isServing knows the line of this release and that of earlier ones.
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

// Log is all the server has logged.
func (i *Server) Log() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text.String()
}

// LogTail is the end of the server's log: little enough that what failed is not lost among it where only the end of a
// run's output is kept.
func (i *Server) LogTail() string {
	all := i.Log()
	return all[max(0, len(all)-4_000):]
}

// Logged reports whether one line of the server's log has all the words.
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

// Kill ends the server with SIGKILL and waits until it is gone.
func (i *Server) Kill() {
	_ = i.Cmd.Process.Kill()
	<-i.Exited
}

// Stop ends the server with SIGTERM and checks that it ends well and in time.
func (i *Server) Stop() {
	i.T.Helper()
	i.StopBy(syscall.SIGTERM)
}

// StopBy is stop with another signal.
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
