// Package nativelog keeps the last native lines of each session in files of this node, to debug a translation.
//
// It is not a durable record: it never syncs, and a lost line affects only debugging.
package nativelog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Limits of a session's lines. A file is full when it reaches either one. The previous file stays, so that at least
// Lines lines or FileBytes of them remain.
const (
	// Lines is the number of last lines to keep.
	Lines = 2000
	// FileBytes limits each of a session's two files. A longer line is replaced by its length.
	FileBytes = 4 << 20
	// knownFiles is the number of files whose sizes are cached; the ring counts other files again.
	knownFiles = 1024
)

const (
	current  = ".lines"
	previous = ".lines.1"
)

// plainName reports whether an id can be a file name. It uses no regular expression, which would cost memory at the
// start of every process.
func plainName(id string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	return id != "" && len(id) <= 128 && strings.ContainsRune(letters, rune(id[0])) && strings.Trim(id, letters+".-") == ""
}

// Ring is a folder of native lines. Its methods may be called from any goroutine.
type Ring struct {
	dir string

	mu    sync.Mutex
	sizes map[string]size
}

// size is the content of a session's current file.
type size struct{ lines, bytes int }

// New returns a ring in a folder; the first line creates the folder.
func New(dir string) *Ring { return &Ring{dir: dir, sizes: map[string]size{}} }

// Append adds a line of a session, unless gone reports that the session is deleted. It refuses an id that is no plain
// file name.
func (r *Ring) Append(sessionID string, line []byte, gone func() bool) error {
	if !plainName(sessionID) {
		return fmt.Errorf("native lines of session %q are not kept: its id can not name a file", sessionID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone() {
		return nil
	}
	if len(line) >= FileBytes {
		line = fmt.Appendf(nil, `{"omittedBytes":%d}`, len(line))
	}
	line = append(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")), '\n') // a space is equivalent in JSON
	path := filepath.Join(r.dir, sessionID+current)
	held, err := r.size(sessionID, path)
	if err == nil && (held.lines >= Lines || held.bytes+len(line) > FileBytes) {
		if err = os.Rename(path, filepath.Join(r.dir, sessionID+previous)); err == nil {
			held = size{}
		}
	}
	if err == nil {
		err = r.write(path, line)
	}
	if err != nil {
		delete(r.sizes, sessionID)
		return fmt.Errorf("keep a native line of session %s: %w", sessionID, err)
	}
	r.sizes[sessionID] = size{held.lines + 1, held.bytes + len(line)}
	return nil
}

// size returns the size of the current file.
func (r *Ring) size(sessionID, path string) (size, error) {
	if held, known := r.sizes[sessionID]; known {
		return held, nil
	}
	if len(r.sizes) >= knownFiles {
		clear(r.sizes)
	}
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return size{}, err
	}
	return size{bytes.Count(content, []byte("\n")), len(content)}, nil
}

func (r *Ring) write(path string, line []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(r.dir, 0o700); err == nil {
			file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		}
	}
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}

// Tail returns the last lines of a session, oldest first.
func (r *Ring) Tail(sessionID string) ([]string, error) {
	if !plainName(sessionID) {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, suffix := range []string{previous, current} {
		content, err := os.ReadFile(filepath.Join(r.dir, sessionID+suffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the native lines of session %s: %w", sessionID, err)
		}
		for line := range strings.Lines(string(content)) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines[max(0, len(lines)-Lines):], nil
}

// Remove deletes the lines of a session.
func (r *Ring) Remove(sessionID string) error {
	if !plainName(sessionID) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sizes, sessionID)
	var failed error
	for _, suffix := range []string{previous, current} {
		if err := os.Remove(filepath.Join(r.dir, sessionID+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("remove the native lines of session %s: %w", sessionID, err))
		}
	}
	return failed
}

// Sessions lists the sessions with lines.
func (r *Ring) Sessions() ([]string, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the sessions with native lines: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		if id, is := strings.CutSuffix(entry.Name(), current); is {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
