package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"harness/database"
)

// notKept are entries of a data directory that are not in an archive, with the reasons where there is something to say.
func notKept() map[string]string {
	return map[string]string{
		"harness.db": "", "harness.db-wal": "", "harness.db-shm": "", "harness.db-journal": "", // their rows are
		"harness.lock": "", "migrate.lock": "", "claim": "", restoringDir: "", artifactsDir: "",
		"run":        "running agents and what they said since it was last stored: their turns come back as interrupted",
		"extensions": "scratch folders of running extensions",
	}
}

// data writes the data directory.
func (w *writer) data(ctx context.Context) error {
	skip := notKept()
	for name, why := range skip {
		if _, err := os.Lstat(filepath.Join(w.DataDir, name)); err == nil && why != "" {
			w.Omitted = append(w.Omitted, Omission{filepath.Join(w.DataDir, name), why})
		}
	}
	slices.SortFunc(w.Omitted, func(a, b Omission) int { return strings.Compare(a.What, b.What) })
	return w.folder(ctx, w.DataDir, dataDir, func(name string) bool {
		_, left := skip[name]
		return left || strings.HasPrefix(name, replacedPrefix)
	})
}

// artifacts writes contents that are not in the archive yet.
func (w *writer) artifacts(ctx context.Context) error {
	return w.folder(ctx, filepath.Join(w.DataDir, artifactsDir), path.Join(dataDir, artifactsDir), func(name string) bool {
		before := w.seen[name]
		w.seen[name] = before || len(path.Base(name)) == 64 // whole ones are named by their hash alone
		return before || strings.Contains(path.Base(name), ".")
	})
}

// folder writes the files below a folder as files below a path of the archive. skip, which may be nil, tells of names
// relative to the folder whether they are left out. Files that go meanwhile were not there.
func (w *writer) folder(ctx context.Context, root, under string, skip func(name string) bool) error {
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || file == root {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if skip != nil && skip(name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return w.entry(ctx, file, path.Join(under, name), entry)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (w *writer) entry(ctx context.Context, file, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err == nil {
		switch {
		case info.IsDir():
			return w.out.WriteHeader(headerOf(name+"/", tar.TypeDir, "", info))
		case info.Mode()&fs.ModeSymlink != 0:
			var target string
			if target, err = os.Readlink(file); err == nil {
				return w.out.WriteHeader(headerOf(name, tar.TypeSymlink, target, info))
			}
		case info.Mode().IsRegular():
			err = w.regular(ctx, file, name, info)
		}
		// Sockets and pipes are of processes that run.
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func headerOf(name string, kind byte, link string, info fs.FileInfo) *tar.Header {
	header := &tar.Header{Name: name, Typeflag: kind, Linkname: link, Mode: int64(info.Mode().Perm()),
		ModTime: info.ModTime(), Format: tar.FormatPAX}
	if owner, is := info.Sys().(*syscall.Stat_t); is {
		header.Uid, header.Gid = int(owner.Uid), int(owner.Gid)
	}
	return header
}

// sqliteMagic begins a SQLite file.
const sqliteMagic = "SQLite format 3\x00"

// regular writes a file by way of a copy, which has one length: others may be writing the file. Of a SQLite file that
// is one state of it, for which its log is needed.
func (w *writer) regular(ctx context.Context, file, name string, info fs.FileInfo) (err error) {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if owner, is := strings.CutSuffix(file, suffix); is && isSQLite(owner) {
			return nil
		}
	}
	header := headerOf(name, tar.TypeReg, "", info)
	if info.Size() < partBytes && !isSQLite(file) {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header.Size = int64(len(content))
		return w.put(*header, bytes.NewReader(content))
	}
	folder, err := os.MkdirTemp(w.beside, ".harness-backup-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	content, err := copyOf(ctx, file, filepath.Join(folder, "copy"))
	if err != nil {
		return err
	}
	defer content.Close()
	if info, err = content.Stat(); err != nil {
		return err
	}
	header.Size = info.Size()
	return w.put(*header, content)
}

// copyOf makes a copy of a file and opens it.
func copyOf(ctx context.Context, from, to string) (*os.File, error) {
	if isSQLite(from) {
		if err := database.CopyFile(ctx, from, to); err != nil {
			return nil, err
		}
		return os.Open(to)
	}
	source, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(target, source); err == nil {
		_, err = target.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, target.Close())
	}
	return target, nil
}

func isSQLite(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	magic := make([]byte, len(sqliteMagic))
	_, err = io.ReadFull(file, magic)
	return err == nil && string(magic) == sqliteMagic
}
