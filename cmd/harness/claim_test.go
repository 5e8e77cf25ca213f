package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"harness/internal/trust"
)

// withoutDataDir is a site whose data directory is the default one, in its working directory.
func withoutDataDir(t *testing.T) *site {
	t.Helper()
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &site{t: t, user: os.Geteuid(), program: program(t, false), workspace: workspace,
		dataDir: filepath.Join(workspace, dataDirName), env: []string{
			runAsHarness + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PORT=0", "HARNESS_LOG_FORMAT=json",
			"CODEX_BIN=/nowhere/codex",
		}}
}

func (s *site) requireCommand(code int, says string, args ...string) {
	s.t.Helper()
	if got, out := s.command(args...); got != code || !strings.Contains(out, says) {
		s.t.Errorf("%v: %d %s, want %d %s", args, got, out, code, says)
	}
}

// A data directory that comes with the folder, though it be a whole one of another folder of this user, is not used and
// not changed, until it is named, or consented to.
func TestTheDataDirectoryOfACloneIsNotUsed(t *testing.T) {
	t.Parallel()
	made := withoutDataDir(t)
	made.start().stop()
	for _, kind := range []string{"copied", "of an earlier release", "a link"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := withoutDataDir(t)
			s.env[2] = made.env[2] // the same home, and consents
			if kind == "a link" {
				if err := os.Symlink(made.dataDir, s.dataDir); err != nil {
					t.Fatal(err)
				}
			} else if out, err := exec.Command("cp", "-a", made.dataDir, s.dataDir).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			if kind == "of an earlier release" {
				if err := os.Remove(filepath.Join(s.dataDir, claimFile)); err != nil {
					t.Fatal(err)
				}
			}
			before, err := trust.HashFolder(s.workspace, nil)
			if err != nil {
				t.Fatal(err)
			}
			remedy := "harness trust " + s.dataDir
			for _, args := range [][]string{{"serve"}, {"migrate"}, {"runtimes", "list"}, {"runtimes", "stop"}} {
				s.requireCommand(2, remedy, args...)
			}
			s.requireCommand(0, "would trust the data directory  "+s.dataDir, "trust", "--dry-run")
			if after, err := trust.HashFolder(s.workspace, nil); err != nil || after != before {
				t.Errorf("what is refused was changed: %v", err)
			}
			if kind == "a link" {
				return // what it leads to is another test's
			}
			s.requireCommand(0, "schema version", "migrate", "--data-dir", dataDirName)
			s.requireCommand(0, "schema version", "migrate", "--trust")
			s.requireCommand(2, remedy, "migrate")
			s.trust(map[string][]string{"copied": {}, "of an earlier release": {s.dataDir}}[kind]...)
			server := s.start()
			server.want(http.StatusOK, http.MethodGet, "/api/projects", nil)
			server.kill()
			s.start().stop()
			s.requireCommand(0, "nothing here needs consent", "trust")
			s.trust("--revoke", dataDirName)
			s.requireCommand(2, remedy, "serve")
		})
	}
}

// Who makes the data directory goes on with it, however the making was cut off, and whoever else was about to make it.
func TestWhoMadeTheDataDirectoryGoesOn(t *testing.T) {
	t.Parallel()
	s := withoutDataDir(t)
	for _, left := range [][]string{{}, {lockFile}, {lockFile, claimFile}} {
		if err := errors.Join(os.RemoveAll(s.dataDir), os.Mkdir(s.dataDir, 0o700)); err != nil {
			t.Fatal(err)
		}
		for _, name := range left {
			s.write(0o600, filepath.Join(dataDirName, name), "")
		}
		s.requireCommand(0, "schema version", "migrate")
		s.requireCommand(0, "schema version", "migrate")
	}
	if err := os.RemoveAll(s.dataDir); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if code, out := s.command("migrate"); code != 0 && !strings.Contains(out, "another harness is already using") {
				t.Errorf("one of many: %d %s", code, out)
			}
		})
	}
	group.Wait()
	s.requireCommand(0, "schema version", "migrate")

	secret, err := os.ReadFile(filepath.Join(s.dataDir, claimFile))
	if err != nil {
		t.Fatal(err)
	}
	s.requireCommand(0, trust.HashBytes(secret)+"  "+s.dataDir, "trust", "--list")
	nowhere := withoutDataDir(t)
	nowhere.env[2] = "HOME="
	nowhere.requireCommand(2, "DATA_DIR", "migrate")
	nowhere.requireCommand(0, "schema version", "migrate", "--data-dir", dataDirName)
}

// A lock that is a link makes no file where it leads to.
func TestALinkForALockIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := withoutDataDir(t)
	outside := filepath.Join(t.TempDir(), "made")
	s.write(0o600, filepath.Join(dataDirName, "x"), "")
	if err := errors.Join(os.Remove(filepath.Join(s.dataDir, "x")),
		os.Symlink(outside, filepath.Join(s.dataDir, lockFile))); err != nil {
		t.Fatal(err)
	}
	s.requireCommand(1, "lock", "migrate")
	if _, err := os.Lstat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("made: %v", err)
	}
}
