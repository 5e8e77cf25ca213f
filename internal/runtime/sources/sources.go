// Package sources reads files that agents load themselves, and their checksums.
//
// It owns the reading of a file. It must never know which files an agent loads: that is in its adapter.
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

// maxFile limits a file with a checksum, in bytes.
const maxFile = 16 << 20

// Candidate is a file that an agent loads if it exists.
type Candidate struct{ Path, Kind, Scope string }

// Files returns the existing candidates in order, without duplicates.
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

// read computes a checksum. It opens only regular files: others could block the reader.
func read(source *runtime.Source) error {
	file, err := os.OpenFile(source.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return reason(err)
	}
	defer func() { _ = file.Close() }() // it was only read
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

// reason returns an error without the path, which the source has.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Upwards returns the folders from a project's root down to a folder; outside of projects only that folder. The root
// is the nearest parent with .git.
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
