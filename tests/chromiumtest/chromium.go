// Package chromiumtest gives tests a real browser: the Chromium of this machine, headless, with a separate profile.
//
// It owns how to find and run Chromium. It must never install anything itself and never skip: a missing browser fails
// the test with the command that installs it.
package chromiumtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/tests/outside"
)

// names are Chromium's names, on PATH or as full paths; scripts/setup-test.sh uses the same ones.
var names = [...]string{
	"chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
	"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// Binary returns the path of Chromium: HARNESS_TEST_CHROMIUM if set, otherwise the installed one. If there is none,
// it fails the test with the remedy.
func Binary(t testing.TB) string {
	t.Helper()
	outside.Needs(t, "Chromium")
	candidates := names[:]
	if named := os.Getenv("HARNESS_TEST_CHROMIUM"); named != "" {
		candidates = []string{named}
	}
	for _, name := range candidates {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("Chromium is missing (looked for %s); install it with scripts/setup-test.sh, or name it in HARNESS_TEST_CHROMIUM",
		strings.Join(candidates, ", "))
	return ""
}

// Shell returns the path of Chromium's headless shell. It uses a third of the processor time of the whole browser, but
// shows no notifications. Where it is not installed, Shell returns Binary.
func Shell(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("chromium-headless-shell"); err == nil && os.Getenv("HARNESS_TEST_CHROMIUM") == "" {
		outside.Needs(t, "Chromium")
		return path
	}
	return Binary(t)
}

// Open shows a page until the test ends. hosts maps a host:port of a URL to its real address ("localhost:5173" →
// "127.0.0.1:40123"), so that a page has a fixed origin, whatever ports are free.
func Open(t testing.TB, url string, hosts map[string]string) {
	t.Helper()
	//nolint:usetesting // what a helper process of Chromium still writes must not fail the test
	profile, err := os.MkdirTemp("", "harness-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	rules := make([]string, 0, len(hosts))
	for host, place := range hosts {
		rules = append(rules, "MAP "+host+" "+place)
	}
	// No sandbox: root and containers cannot use one, and the pages are our own.
	cmd := exec.Command(Shell(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-sync", "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
		"--no-proxy-server", "--user-data-dir="+profile, "--host-resolver-rules="+strings.Join(rules, ","), url)
	var said buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), "HOME="+profile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second // a helper process may hold its output open
	if err := cmd.Start(); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait() // a signal ends it
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // the program may be a script that runs Chromium
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kill leftover processes, and Chromium itself if it hangs
		<-gone
		if t.Failed() {
			t.Logf("Chromium said:\n%s", said.String())
		}
		if err := os.RemoveAll(filepath.Clean(profile)); err != nil {
			t.Logf("remove Chromium's profile: %v", err)
		}
	})
}

// buffer is a bytes.Buffer for two writers.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns everything written so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
