package gitworkspace

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
)

// site is a remote and the folder of a session.
type site struct {
	t      *testing.T
	remote string
	folder string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, remote: filepath.Join(t.TempDir(), "remote.git"), folder: filepath.Join(t.TempDir(), "folder")}
	s.command("git", "init", "--quiet", "--bare", s.remote)
	s.do(os.Mkdir(s.folder, 0o755))
	return s
}

// node returns a server's store.
func (s *site) node() *Store {
	s.t.Helper()
	store := New(Options{Dir: s.t.TempDir(), Remote: s.remote, Bubblewrap: agenttest.Bubblewrap(s.t)})
	s.do(store.Start(s.t.Context()))
	s.t.Cleanup(func() { s.do(store.Stop(s.t.Context())) })
	return store
}

func (s *site) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) command(name string, args ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), name, args...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	var said, complaints bytes.Buffer
	command.Stdout, command.Stderr = &said, &complaints
	if err := command.Run(); err != nil {
		s.t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, &complaints)
	}
	return said.String()
}

// git runs git in the folder.
func (s *site) git(args ...string) string {
	s.t.Helper()
	return s.command("git", append([]string{"-C", s.folder, "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "filter.evil.clean=cat"}, args...)...)
}

func (s *site) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	s.do(os.MkdirAll(filepath.Dir(path), 0o755))
	s.do(os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // a test's
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.folder, name))
	s.do(err)
	return string(text)
}

func (s *site) store(by *Store, name string) string {
	s.t.Helper()
	snapshot, refusal, err := by.Store(s.t.Context(), name, s.folder)
	if err != nil || refusal != "" {
		s.t.Fatalf("not stored: %q, %v", refusal, err)
	}
	return snapshot
}

// lose removes the folder, and restores it at another node.
func (s *site) lose(by *Store, name, snapshot string) {
	s.t.Helper()
	s.do(os.RemoveAll(s.folder))
	aside, err := by.Restore(s.t.Context(), name, snapshot, s.folder)
	if err != nil || aside != "" {
		s.t.Fatalf("not restored: %q, %v", aside, err)
	}
}
