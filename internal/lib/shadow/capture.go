package shadow

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// State is a folder at one moment.
type State struct {
	// Tree is the git tree of the files.
	Tree string
	// Files is the number of files in it.
	Files int
	// Skipped are the paths that were left out: too large, special, or repositories of their own.
	Skipped []string
	// Took is the duration of the capture.
	Took time.Duration
}

// Capture stores the present state of the folder. Ignored files are left out unless they are tracked.
func (s *Shadow) Capture(ctx context.Context) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capture(ctx)
}

func (s *Shadow) capture(ctx context.Context) (State, error) {
	begun := time.Now()
	if err := removeStale(s.path("index.lock")); err != nil {
		return State{}, err
	}
	tracked, err := s.forgetYoung(ctx)
	if err != nil {
		return State{}, err
	}
	if err := s.noteBegin(begun); err != nil {
		return State{}, err
	}
	found, err := s.changed(ctx)
	if err != nil {
		return State{}, err
	}
	files := len(tracked)
	for _, path := range found.gone {
		if tracked[path] {
			files--
		}
	}
	for path := range found.stored() {
		if !tracked[path] {
			files++
		}
	}
	if files > s.opts.MaxPaths {
		return State{}, &RefusedError{fmt.Sprintf("the folder has more than %d files", s.opts.MaxPaths)}
	}
	if err := s.update(ctx, found); err != nil {
		return State{}, err
	}
	tree, err := s.line(ctx, nil, "write-tree")
	return State{Tree: tree, Files: files, Skipped: found.skipped, Took: time.Since(begun)}, err
}

// found is what differs between the index and the folder.
type found struct {
	gone, there, large []string
	skipped            []string
}

// stored yields the paths whose files are stored.
func (f found) stored() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, paths := range [][]string{f.there, f.large} {
			for _, path := range paths {
				if !yield(path) {
					return
				}
			}
		}
	}
}

// Above largeFile, bytes are stored as they are: compressing them costs more time than the disk is worth.
const largeFile = 1 << 20

// changed lists the paths that differ. Git starts no program for it and enters no nested repository.
func (s *Shadow) changed(ctx context.Context) (found, error) {
	var all found
	listed, err := s.git(ctx, nil, "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return all, err
	}
	var size int64
	reals := map[string]bool{".": true}
	for path := range paths(listed) {
		info, err := os.Lstat(filepath.Join(s.opts.Folder, path))
		switch {
		case strings.HasSuffix(path, "/"): // a repository of its own
			all.skipped = append(all.skipped, path)
		case err != nil || info.IsDir() || !s.isReal(reals, filepath.Dir(path)):
			all.gone = append(all.gone, path)
		case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 || info.Size() > s.opts.MaxFile:
			all.skipped = append(all.skipped, path)
		case info.Size() > largeFile:
			size += info.Size()
			all.large = append(all.large, path)
		default:
			size += info.Size()
			all.there = append(all.there, path)
		}
	}
	if size > s.opts.MaxNew {
		return all, &RefusedError{fmt.Sprintf("the folder has %d MiB of new files, more than %d MiB", size>>20, s.opts.MaxNew>>20)}
	}
	return all, nil
}

// update brings the index to the found state. Paths that are gone come first: a file may be in their place now, or a
// link in front of them.
func (s *Shadow) update(ctx context.Context, all found) error {
	add := []string{"update-index", "-z", "--add", "--remove", "--replace", "--stdin"}
	for _, step := range []struct {
		paths []string
		args  []string
	}{
		{all.gone, []string{"update-index", "-z", "--force-remove", "--stdin"}},
		{all.there, add},
		{all.large, append([]string{"-c", "core.compression=0", "-c", "core.looseCompression=0"}, add...)},
	} {
		if len(step.paths) == 0 {
			continue
		}
		if _, err := s.git(ctx, []byte(strings.Join(step.paths, "\x00")+"\x00"), step.args...); err != nil {
			return err
		}
	}
	return nil
}

// isReal reports whether a path is a folder within the folder, reached without a link.
func (s *Shadow) isReal(known map[string]bool, dir string) bool {
	is, seen := known[dir]
	if !seen {
		info, err := os.Lstat(filepath.Join(s.opts.Folder, dir))
		is = err == nil && info.IsDir() && s.isReal(known, filepath.Dir(dir))
		known[dir] = is
	}
	return is
}

// forgetYoung drops the stored times of files that changed since shortly before the last capture, so that git compares
// their contents. Git compares times by whole seconds: a second change within one second would stay unseen. It returns
// the tracked paths.
func (s *Shadow) forgetYoung(ctx context.Context) (map[string]bool, error) {
	listed, err := s.git(ctx, nil, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	since := s.lastBegin().Add(-2 * time.Second)
	var young bytes.Buffer
	tracked := map[string]bool{}
	for entry := range bytes.SplitSeq(listed, []byte{0}) {
		_, path, ok := bytes.Cut(entry, []byte("\t"))
		if !ok {
			continue
		}
		tracked[string(path)] = true
		info, err := os.Lstat(filepath.Join(s.opts.Folder, string(path)))
		if err != nil {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && time.Unix(stat.Ctim.Unix()).After(since) {
			young.Write(entry)
			young.WriteByte(0)
		}
	}
	if young.Len() == 0 {
		return tracked, nil
	}
	if _, err = s.git(ctx, young.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	return tracked, s.refresh(ctx)
}

// refresh compares the contents of files whose stored times are missing, and stores the times of those that are equal.
// Without it, each later capture would read these files again.
func (s *Shadow) refresh(ctx context.Context) error {
	_, err := s.git(ctx, nil, "update-index", "-q", "--really-refresh")
	if err != nil && exited(err) { // 1: a file differs
		return nil
	}
	return err
}

// noteBegin stores when a capture began, before it changes the index.
func (s *Shadow) noteBegin(at time.Time) error {
	return os.WriteFile(s.path("captured"), binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())), 0o600)
}

// lastBegin returns when the last capture began. If that is unknown, it is long ago: all files are compared.
func (s *Shadow) lastBegin() time.Time {
	data, err := os.ReadFile(s.path("captured"))
	if err != nil || len(data) != 8 {
		return time.Unix(0, 0)
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(data)))
}
