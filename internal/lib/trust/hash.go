package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Limits of one hash.
const (
	maxBytes = 256 << 20
	maxFiles = 50_000
)

const algorithm = "sha256:"

// HashBytes returns the hash of a single file's content, as sha256sum prints it.
func HashBytes(content []byte) string {
	sum := sha256.Sum256(content)
	return algorithm + hex.EncodeToString(sum[:])
}

// HashFolder returns the hash of a folder's content and of further files outside it: names, contents and whether they
// are executable. Links count as their targets. It returns an error for content that cannot be hashed: too large,
// unreadable, or not a file.
func HashFolder(folder string, further []string) (string, error) {
	w := walk{folder: folder, sum: sha256.New()}
	if err := w.folderAt(folder, nil); err != nil {
		return "", fmt.Errorf("hash %s: %w", folder, err)
	}
	outside := slices.DeleteFunc(slices.Clone(further), func(path string) bool {
		relative, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(relative)
	})
	slices.Sort(outside)
	for _, path := range slices.Compact(outside) {
		if err := w.entry(path, nil); err != nil {
			return "", fmt.Errorf("hash %s, which belongs to %s: %w", path, folder, err)
		}
	}
	return algorithm + hex.EncodeToString(w.sum.Sum(nil)), nil
}

type walk struct {
	folder string
	sum    hash.Hash
	files  int
	bytes  int64
}

// folderAt adds a folder's entries by name. above lists the real folders it is in: a link back to one would cause an
// endless loop.
func (w *walk) folderAt(path string, above []string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if slices.Contains(above, real) {
		return w.writeLine(path, "loop", false, "")
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if err := w.writeLine(path, "folder", false, ""); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := w.entry(filepath.Join(path, entry.Name()), append(slices.Clip(above), real)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(path string, above []string) error {
	info, err := os.Stat(path)
	if err != nil {
		target, linkErr := os.Readlink(path)
		if linkErr != nil {
			return err
		}
		return w.writeLine(path, "broken link", false, target) // the entry differs once the target exists
	}
	switch {
	case info.IsDir():
		return w.folderAt(path, above)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder", path)
	}
	content, err := w.content(path)
	if err != nil {
		return err
	}
	return w.writeLine(path, "file", info.Mode()&0o111 != 0, content)
}

// content returns the hash of a file's bytes.
func (w *walk) content(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "hash", Path: path, Err: fs.ErrInvalid}
	}
	sum := sha256.New()
	read, err := io.Copy(sum, io.LimitReader(file, maxBytes-w.bytes+1))
	if err != nil {
		return "", err
	}
	if w.bytes += read; w.bytes > maxBytes {
		return "", fmt.Errorf("it is larger than %d MiB: remove what it does not run", maxBytes>>20)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (w *walk) writeLine(path, kind string, executable bool, content string) error {
	if w.files++; w.files > maxFiles {
		return fmt.Errorf("it has more than %d files and folders: remove what it does not run", maxFiles)
	}
	relative, err := filepath.Rel(w.folder, path)
	if err != nil {
		return err
	}
	// Quoted, so that no name can imitate another line.
	_, err = fmt.Fprintf(w.sum, "%q %s %t %q\n", relative, kind, executable, content)
	return err
}
