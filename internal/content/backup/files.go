package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// notKept lists entries of a data directory that archives omit, some with an explanation.
func notKept() map[string]string {
	return map[string]string{
		"harness.db": "", "harness.db-wal": "", "harness.db-shm": "", "harness.db-journal": "", "harness.db-synced": "", // their rows are in it
		"harness.lock": "", "migrate.lock": "", "claim": "", restoringDir: "", artifactsDir: "",
		"run":        "running agents and their output since it was last stored: their turns come back as interrupted",
		"extensions": "scratch folders of running extensions",
	}
}

// leftOut reports whether archives omit an entry of a data directory.
func leftOut(name string) bool {
	_, left := notKept()[name]
	return left && name != artifactsDir || strings.HasPrefix(name, replacedPrefix)
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
	return w.folder(ctx, w.DataDir, dataDir, func(name string) bool { return name == artifactsDir || leftOut(name) })
}

// artifacts writes the contents that are not in the archive yet.
func (w *writer) artifacts(ctx context.Context) error {
	return w.folder(ctx, filepath.Join(w.DataDir, artifactsDir), path.Join(dataDir, artifactsDir), func(name string) bool {
		before := w.seen[name]
		w.seen[name] = before || len(path.Base(name)) == 64 // complete ones are named by their hash alone
		return before || strings.Contains(path.Base(name), ".")
	})
}

// folder writes the files below a folder as files below a path of the archive. skip, which may be nil, reports whether
// to omit a name relative to the folder. It omits a file that was removed after it was listed. Agents may write the
// folder at the same time: it follows no link, blocks on nothing but disks, and reads the same file that it checked.
func (w *writer) folder(ctx context.Context, root, under string, skip func(name string) bool) error {
	dir, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.below(ctx, &level{dir: dir, path: root, under: under, skip: skip})
}

// level is a folder that is being read.
type level struct {
	dir *os.Root
	// path is the folder's path, under its path in the archive, name its path below the requested folder.
	path, under, name string
	depth             int
	skip              func(name string) bool
}

// maxDepth bounds nested folders: each stays open while its subfolders are read.
const maxDepth = 200

// below writes a folder's content and closes it.
func (w *writer) below(ctx context.Context, at *level) (err error) {
	defer func() { err = errors.Join(err, at.dir.Close()) }()
	entries, err := fs.ReadDir(at.dir.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(at.name, entry.Name())
		if at.skip != nil && at.skip(name) {
			continue
		}
		if err := w.entry(ctx, at, entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// entry writes one entry of a folder. It skips sockets, pipes and devices, which belong to running processes.
func (w *writer) entry(ctx context.Context, at *level, name string) error {
	info, err := at.dir.Lstat(name)
	if err != nil {
		return err
	}
	kept := path.Join(at.under, at.name, name)
	switch {
	case info.IsDir():
		if at.depth >= maxDepth {
			w.leave(filepath.Join(at.path, name), fmt.Sprintf("more than %d nested folders", maxDepth))
			return nil
		}
		var dir *os.Root
		err := again(at.dir, name, info, func() (err error) {
			dir, err = openFolder(at.dir, name, info)
			return err
		})
		if err != nil {
			return w.skipReplaced(at, name, err)
		}
		if err := w.out.WriteHeader(headerOf(kept+"/", tar.TypeDir, "", info)); err != nil {
			return errors.Join(err, dir.Close())
		}
		return w.below(ctx, &level{dir: dir, path: filepath.Join(at.path, name), under: at.under,
			name: path.Join(at.name, name), depth: at.depth + 1, skip: at.skip})
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		err := again(at.dir, name, info, func() (err error) {
			target, err = at.dir.Readlink(name)
			return err
		})
		if err != nil {
			return w.skipReplaced(at, name, err)
		}
		return w.out.WriteHeader(headerOf(kept, tar.TypeSymlink, target, info))
	case info.Mode().IsRegular():
		return w.regular(ctx, at, name, info)
	}
	return nil
}

// leave records an omission in the manifest.
func (w *writer) leave(what, why string) { w.Omitted = append(w.Omitted, Omission{what, why}) }

// skipReplaced records an entry that was replaced before it was opened. It returns every other error.
func (w *writer) skipReplaced(at *level, name string, err error) error {
	if !errors.Is(err, errOther) {
		return err
	}
	w.leave(filepath.Join(at.path, name), "it became another file while the backup was made")
	return nil
}

func headerOf(name string, kind byte, link string, info fs.FileInfo) *tar.Header {
	header := &tar.Header{Name: name, Typeflag: kind, Linkname: link, Mode: int64(info.Mode().Perm()),
		ModTime: info.ModTime(), Format: tar.FormatPAX}
	if owner, is := info.Sys().(*syscall.Stat_t); is {
		header.Uid, header.Gid = int(owner.Uid), int(owner.Gid)
	}
	return header
}

// openRegular opens a regular file of a folder, never a pipe, another kind of file or a link's target. It returns nil
// if there is no such file.
func openRegular(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := openAs(dir, name, info)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOther) {
		return nil, nil
	}
	return file, err
}

// errOther means that a name no longer belongs to the checked file.
var errOther = errors.New("it is another file")

// openTries is how often opening an unchanged entry is retried: an agent that briefly replaces it with a link must not
// end the backup.
const openTries = 20

// again retries opening an entry of a folder, provided it is still the checked file. It returns errOther, or the error
// of try for an unchanged entry.
func again(dir *os.Root, name string, want fs.FileInfo, try func() error) error {
	for tries := 1; ; tries++ {
		err := try()
		if err == nil || errors.Is(err, errOther) {
			return err
		}
		now, gone := dir.Lstat(name)
		switch {
		case gone != nil:
			return gone
		case !os.SameFile(want, now):
			return errOther
		case tries == openTries:
			return err
		}
	}
}

// openAs opens a file if it is the checked one. errOther.
func openAs(in *os.Root, name string, want fs.FileInfo) (file *os.File, err error) {
	err = again(in, name, want, func() (err error) {
		file, err = openFile(in, name, want)
		return err
	})
	return file, err
}

func openFile(in *os.Root, name string, want fs.FileInfo) (*os.File, error) {
	file, err := in.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not block
	if err != nil {
		return nil, err
	}
	now, err := file.Stat()
	if err == nil && !os.SameFile(want, now) {
		err = errOther
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// openFolder opens a folder if it is the checked one. errOther.
func openFolder(in *os.Root, name string, want fs.FileInfo) (*os.Root, error) {
	dir, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := dir.Stat(".")
	if err == nil && !os.SameFile(want, now) {
		err = errOther
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// regular writes a file up to its current size, because other processes may be appending to it.
func (w *writer) regular(ctx context.Context, at *level, name string, info fs.FileInfo) (err error) {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if owner, is := strings.CutSuffix(name, suffix); is && isSQLite(at.dir, owner) {
			return nil // its owner writes it separately
		}
	}
	file, err := openAs(at.dir, name, info)
	if err != nil {
		return w.skipReplaced(at, name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if hasMagic(file) {
		return w.sqlite(ctx, at, name, file)
	}
	kept := path.Join(at.under, at.name, name)
	if info.Size() < partBytes {
		content, err := io.ReadAll(io.LimitReader(file, partBytes))
		if err != nil {
			return err
		}
		header := headerOf(kept, tar.TypeReg, "", info)
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
	return errors.Join(w.copied(kept, info, content), content.Close())
}

// copied writes a copy of a file.
func (w *writer) copied(kept string, of fs.FileInfo, content *os.File) error {
	info, err := content.Stat()
	if err != nil {
		return err
	}
	header := headerOf(kept, tar.TypeReg, "", of)
	header.Size = info.Size()
	return w.put(*header, content)
}

// copyOf copies a file up to its current size, and opens the copy at its beginning.
func copyOf(ctx context.Context, from *os.File, to string) (*os.File, error) {
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	target, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(target, &interruptible{ctx, io.NewSectionReader(from, 0, info.Size())})
	if err == nil {
		_, err = target.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, target.Close())
	}
	return target, nil
}

// interruptible reads until its context ends.
type interruptible struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	from io.Reader
}

// Read implements io.Reader.
func (r *interruptible) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(into)
}
