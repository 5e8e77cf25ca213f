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

	"harness/internal/lib/trust"
	"harness/server/datadir"
	"harness/tests/programtest"
)

// withoutDataDir makes a site whose data directory is the default one, in its working directory.
func withoutDataDir(t *testing.T) *programtest.Site {
	t.Helper()
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &programtest.Site{T: t, User: os.Geteuid(), Program: programtest.Program(t), Workspace: workspace,
		DataDir: filepath.Join(workspace, dataDirName), Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PORT=0", "HARNESS_LOG_FORMAT=json",
			"CODEX_BIN=/nowhere/codex",
		}}
}

func requireCommand(s *programtest.Site, code int, says string, args ...string) {
	s.T.Helper()
	if got, out := s.Command(args...); got != code || !strings.Contains(out, says) {
		s.T.Errorf("%v: %d %s, want %d %s", args, got, out, code, says)
	}
}

// The server neither uses nor changes a data directory that came with the folder, even a complete one from another
// folder of this user. That holds until the operator names it or consents to it.
func TestTheDataDirectoryOfACloneIsNotUsed(t *testing.T) {
	t.Parallel()
	made := withoutDataDir(t)
	made.Start().Stop()
	for _, kind := range []string{"copied", "of an earlier release", "a link"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := withoutDataDir(t)
			s.Env[1] = made.Env[1] // the same home, and its consents
			if kind == "a link" {
				if err := os.Symlink(made.DataDir, s.DataDir); err != nil {
					t.Fatal(err)
				}
			} else if out, err := exec.Command("cp", "-a", made.DataDir, s.DataDir).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			if kind == "of an earlier release" {
				if err := os.Remove(filepath.Join(s.DataDir, datadir.ClaimFile)); err != nil {
					t.Fatal(err)
				}
			}
			before, err := trust.HashFolder(s.Workspace, nil)
			if err != nil {
				t.Fatal(err)
			}
			remedy := "harness trust " + s.DataDir
			for _, args := range [][]string{{"serve"}, {"migrate"}, {"runtimes", "list"}, {"runtimes", "stop"}} {
				requireCommand(s, 2, remedy, args...)
			}
			requireCommand(s, 0, "would trust the data directory  "+s.DataDir, "trust", "--dry-run")
			if after, err := trust.HashFolder(s.Workspace, nil); err != nil || after != before {
				t.Errorf("what is refused was changed: %v", err)
			}
			if kind == "a link" {
				return // another test covers the link's target
			}
			requireCommand(s, 0, "schema version", "migrate", "--data-dir", dataDirName)
			requireCommand(s, 0, "schema version", "migrate", "--trust")
			requireCommand(s, 2, remedy, "migrate")
			consent(s, map[string][]string{"copied": {}, "of an earlier release": {s.DataDir}}[kind]...)
			server := s.Start()
			server.Want(http.StatusOK, http.MethodGet, "/api/projects", nil)
			server.Kill()
			s.Start().Stop()
			requireCommand(s, 0, "nothing here needs consent", "trust")
			consent(s, "--revoke", dataDirName)
			requireCommand(s, 2, remedy, "serve")
		})
	}
}

// The process that creates the data directory continues with it, even if its creation was interrupted or another
// process was about to create it.
func TestWhoMadeTheDataDirectoryGoesOn(t *testing.T) {
	t.Parallel()
	s := withoutDataDir(t)
	for _, left := range [][]string{{}, {datadir.LockFile}, {datadir.LockFile, datadir.ClaimFile}} {
		if err := errors.Join(os.RemoveAll(s.DataDir), os.Mkdir(s.DataDir, 0o700)); err != nil {
			t.Fatal(err)
		}
		for _, name := range left {
			write(s, 0o600, filepath.Join(dataDirName, name), "")
		}
		requireCommand(s, 0, "schema version", "migrate")
		requireCommand(s, 0, "schema version", "migrate")
	}
	if err := os.RemoveAll(s.DataDir); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if code, out := s.Command("migrate"); code != 0 && !strings.Contains(out, "another harness is already using") {
				t.Errorf("one of many: %d %s", code, out)
			}
		})
	}
	group.Wait()
	requireCommand(s, 0, "schema version", "migrate")

	secret, err := os.ReadFile(filepath.Join(s.DataDir, datadir.ClaimFile))
	if err != nil {
		t.Fatal(err)
	}
	requireCommand(s, 0, trust.HashBytes(secret)+"  "+s.DataDir, "trust", "--list")
	nowhere := withoutDataDir(t)
	nowhere.Env[2] = "HOME="
	requireCommand(nowhere, 2, "DATA_DIR", "migrate")
	requireCommand(nowhere, 0, "schema version", "migrate", "--data-dir", dataDirName)
}

// A link in place of the lock file does not create a file at its target.
func TestALinkForALockIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := withoutDataDir(t)
	outside := filepath.Join(t.TempDir(), "made")
	write(s, 0o600, filepath.Join(dataDirName, "x"), "")
	if err := errors.Join(os.Remove(filepath.Join(s.DataDir, "x")),
		os.Symlink(outside, filepath.Join(s.DataDir, datadir.LockFile))); err != nil {
		t.Fatal(err)
	}
	requireCommand(s, 1, "lock", "migrate")
	if _, err := os.Lstat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("made: %v", err)
	}
}
