package shadow_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/lib/shadow"
)

// person runs a script as a person with an ordinary git would.
func person(t *testing.T, folder, script string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-ec", script)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@example.com", "GIT_COMMITTER_NAME=p",
		"GIT_COMMITTER_EMAIL=p@example.com", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := command.CombinedOutput()
	return string(out), err
}

// repository makes a folder with a repository of three files.
func repository(t *testing.T, more string) (base, folder string) {
	t.Helper()
	base = t.TempDir()
	folder = filepath.Join(base, "work")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	payload := "#!/bin/sh\necho \"$0 $*\" >> " + base + "/RAN\nexit 0\n"
	if err := os.WriteFile(filepath.Join(base, "payload"), []byte(payload), 0o755); err != nil {
		t.Fatal(err)
	}
	setUp := "git init -q -b main .; echo a > a; echo b > b; mkdir d; echo c > d/c; git add -A; git commit -qm base; "
	if out, err := person(t, folder, setUp+more); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return base, folder
}

func open(t *testing.T, base, folder string) *shadow.Shadow {
	t.Helper()
	s, err := shadow.Open(t.Context(), shadow.Options{Folder: folder, Dir: filepath.Join(base, "shadow.git")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func capture(t *testing.T, s *shadow.Shadow) shadow.State {
	t.Helper()
	state, err := s.Capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// content lists each file of a folder with its executable bit and a hash of its bytes, each link with its target.
func content(dir string) string {
	var all []string
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not compared
		}
		if entry.Name() == ".git" {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all = append(all, path+" -> "+to)
		case info.Mode().IsRegular():
			data, _ := os.ReadFile(path)
			all = append(all, fmt.Sprintf("%s %v %x", path, info.Mode()&0o111 != 0, sha256.Sum256(data)))
		}
		return nil
	})
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// personsGit lists the files of the person's repository, except objects.
func personsGit(folder string) string {
	var all []string
	_ = filepath.WalkDir(filepath.Join(folder, ".git"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.Contains(path, ".git/objects/") {
			data, _ := os.ReadFile(path)
			all = append(all, fmt.Sprintf("%s %x", path, sha256.Sum256(data)))
		}
		return nil
	})
	return strings.Join(all, "\n")
}
