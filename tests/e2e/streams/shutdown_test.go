package streams

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/programtest"
)

// A starting server (here it waits for another one's migration) reports this instead of leaving its peers without a
// response.
func TestAServerThatStartsSaysSo(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent"))
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(s.DataDir, "migrate.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	server := s.Launch(s.Program)
	server.Eventually("it is starting", func() bool {
		for line := range strings.Lines(server.Log()) {
			var entry struct{ URL, Message string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Message == "harness is starting" {
				server.URL = entry.URL
			}
		}
		return server.URL != ""
	})
	if answer := server.Want(http.StatusServiceUnavailable, http.MethodGet, "/api/ready",
		nil); answer["code"] != "starting" {
		t.Errorf("it says %v", answer)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	server.AwaitReady()
	server.Want(http.StatusOK, http.MethodGet, "/api/projects", nil)
	server.Stop()
}

// An orderly shutdown stays orderly, whatever peers hold open: a browser's spare connection, half a request, a kept
// connection, a stream that does not answer the close frame.
func TestOpenConnectionsDoNotSpoilTheEnd(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent")).Start()
	for _, said := range []string{"", "GET /api/projects HTTP/1.1\r\nHost: ",
		"GET /api HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"} {
		p := rawDial(server, said)
		if strings.HasSuffix(said, "\r\n\r\n") {
			if response, err := http.ReadResponse(p.reader, nil); err != nil || response.Body.Close() != nil {
				t.Fatal(err)
			}
		}
	}
	// including the test's own connection
	server.Eventually("all are accepted", func() bool { return server.Metric("harness_http_connections") == 4 })
	stream := rawStream(server)
	server.Stop()
	if code, err := stream.end(programtest.Patience); code != 1012 {
		t.Errorf("the stream was closed with %d, %v", code, err)
	}
	if strings.Contains(server.Log(), "not stopped cleanly") {
		t.Error("a part was not stopped cleanly")
	}
}

// A request that outlasts the time of an orderly shutdown is cut off. The exit code still reports an orderly
// shutdown, so that no service manager reports a crash.
func TestARequestCutOffDoesNotSpoilTheEnd(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent")).Start()
	p := rawDial(server,
		"POST /api/projects HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	// including the test's own connection
	server.Eventually("it is accepted", func() bool { return server.Metric("harness_http_connections") == 2 })
	server.Stop()
	if !strings.Contains(server.Log(), "requests cut off by the shutdown") {
		t.Error("the log does not report that a request was cut off")
	}
	if strings.Contains(server.Log(), "not stopped cleanly") {
		t.Error("a part was not stopped cleanly")
	}
	_ = p.Close()
}

// A second signal ends a server whose orderly shutdown is too slow, here because of a stream whose client does not
// answer the close frame.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent")).Start()
	rawStream(server)
	// Not SIGINT: a shell that runs the tests in the background makes them ignore it, and ignoring it is the usual
	// effect then.
	if err := server.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	server.Eventually("it is stopping", func() bool { return strings.Contains(server.Log(), "a second signal ends") })
	began := time.Now()
	if err := server.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.Exited:
	case <-time.After(programtest.Patience):
		t.Fatal("it goes on")
	}
	status, unix := server.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	if took := time.Since(began); !unix || !status.Signaled() || status.Signal() != syscall.SIGTERM ||
		took > programtest.Slowness*time.Second {
		t.Errorf("it ended after %v with %v", took, server.Cmd.ProcessState)
	}
}

// Other users may not read the stored files, even in an existing folder with open permissions.
func TestWhatIsKeptIsTheOwners(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nonexistent"))
	if err := os.Mkdir(s.DataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	server := s.Start()
	server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "private"})
	found := 0
	err := filepath.WalkDir(s.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == s.DataDir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", filepath.Base(path), info.Mode())
		}
		return nil
	})
	if err != nil || found < 4 {
		t.Errorf("looked at %d files, %v", found, err)
	}
	server.Stop()
}
