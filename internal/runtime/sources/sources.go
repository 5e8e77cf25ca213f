// Package sources reads the files that agents read by themselves: which there are, and their checksums.
//
// It owns how a file is read. It must never know which files an agent reads: that is its adapter's business.
package sources

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"harness/internal/runtime"
)

// maxFile is how long (bytes) a file may be to be added up.
const maxFile = 16 << 20

// Candidate is a file an agent would read if it were there.
type Candidate struct{ Path, Kind, Scope string }

// Files are the candidates that are there, in their order, each once.
func Files(candidates ...Candidate) []runtime.Source {
	found, seen := []runtime.Source{}, map[string]bool{}
	for _, c := range candidates {
		if seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		source := runtime.Source{Path: c.Path, Kind: c.Kind, Scope: c.Scope}
		err := read(&source)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			continue
		case err != nil:
			source.Reason = err.Error()
		}
		found = append(found, source)
	}
	return found
}

var errNoFile = errors.New("it is no file")

// read adds a file up. Anything else than a file is not opened to be read: it could make its reader wait.
func read(source *runtime.Source) error {
	file, err := os.OpenFile(source.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return reason(err)
	}
	defer func() { _ = file.Close() }() // it was read only
	info, err := file.Stat()
	switch {
	case err != nil:
		return reason(err)
	case !info.Mode().IsRegular():
		return errNoFile
	case info.Size() > maxFile:
		source.Bytes = info.Size()
		return fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	sum := sha256.New()
	if source.Bytes, err = io.Copy(sum, io.LimitReader(file, maxFile)); err != nil {
		return reason(err)
	}
	source.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// reason is an error without the path, which the source has.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Upwards are the folders from the root of a project, which is the next one above that has .git, down to a folder; the
// folder alone outside of projects.
func Upwards(folder string) []string {
	chain := []string{folder}
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return []string{folder}
		}
		chain = append([]string{filepath.Dir(dir)}, chain...)
	}
	return chain
}
