package dbtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// initialize creates the files of a new cluster. initdb takes a second of CPU time, and each test binary has a
// cluster. So initdb runs once for all test binaries, and the others copy its output.
func initialize(bin, data string, credential *syscall.Credential) error {
	kept, err := keptFiles(bin)
	if err != nil {
		return err
	}
	if _, err := os.Stat(kept); err == nil {
		return copyFiles(data, kept, credential)
	}
	if err := ran(command(credential, filepath.Join(bin, "initdb"), "-D", data, "-U", "harness", "-A", "trust", "-E", "UTF8",
		"--locale=C", "-N")); err != nil {
		return err
	}
	return keep(kept, data)
}

// keptFiles returns the folder for the output of this initdb.
func keptFiles(bin string) (string, error) {
	initdb, err := filepath.EvalSymlinks(filepath.Join(bin, "initdb"))
	if err != nil {
		return "", err
	}
	info, err := os.Stat(initdb)
	if err != nil {
		return "", err
	}
	folder, err := os.Getwd() // the test's package folder, below the folder of go.mod
	if err != nil {
		return "", err
	}
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("there is no go.mod above a test")
		}
	}
	of := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", initdb, info.Size(), info.ModTime().UnixNano()))
	return filepath.Join(folder, "bin", "test", fmt.Sprintf("postgres-%x", of[:8])), nil
}

// keep stores a copy of initdb's output. If several test binaries do so at once, the first copy stays.
func keep(kept, data string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil { //nolint:gosec // as other built files
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(kept), "postgres-new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made) }() // does nothing after the rename
	if err := copyFiles(filepath.Join(made, "data"), data, nil); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(made, "data"), kept)
	if _, there := os.Stat(kept); there == nil {
		return nil
	}
	return err
}

// copyFiles copies the files of a cluster and makes another user their owner.
func copyFiles(to, from string, credential *syscall.Credential) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && credential != nil {
			err = os.Lchown(path, int(credential.Uid), int(credential.Gid))
		}
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700) //nolint:gosec // a folder; Postgres wants it to be its own
		}
		return err
	})
}

// ran runs a command and returns why it failed.
func ran(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}
