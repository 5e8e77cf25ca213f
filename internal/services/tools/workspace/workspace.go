// Package workspace provides the tools for the files of a session's folder: workspace.read, workspace.list,
// workspace.write and patch.apply. A Browser shows the same files to people.
//
// It owns that they read and change nothing outside of the folder, whatever the path, links or races: every access goes
// through an os.Root.
package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"harness/internal/services/tools"
)

// Limits bound what one call reads and writes, in bytes and entries; 0 means the default.
type Limits struct {
	// ReadBytes bounds one read (default 1 MiB), WriteBytes a written or patched file (default 10 MiB), PatchBytes a
	// patch (default 1 MiB).
	ReadBytes, WriteBytes, PatchBytes int64
	// Entries bounds one list (default 10,000).
	Entries int
	// Hidden lists paths (real, absolute) within a workspace that no tool reads or changes, Fixed those that no tool
	// changes: the server's own.
	Hidden, Fixed []string
}

// Tools makes the tools.
func Tools(limits Limits) []tools.Tool {
	or := func(value *int64, usual int64) {
		if *value <= 0 {
			*value = usual
		}
	}
	or(&limits.ReadBytes, 1<<20)
	or(&limits.WriteBytes, 10<<20)
	or(&limits.PatchBytes, 1<<20)
	if limits.Entries <= 0 {
		limits.Entries = 10_000
	}
	return []tools.Tool{limits.read(), limits.list(), limits.write(), limits.patch()}
}

// run opens the workspace for a call and closes it afterwards.
func run[In, Out any](work func(ctx context.Context, root *os.Root, in In) (Out, error)) func(context.Context,
	tools.Job) (json.RawMessage, error) {
	return runWith(func(ctx context.Context, root *os.Root, in In, _ []byte) (Out, error) { return work(ctx, root, in) })
}

// runWith is run for work with an artifact.
func runWith[In, Out any](work func(ctx context.Context, root *os.Root, in In, artifact []byte) (Out, error)) func(context.Context,
	tools.Job) (json.RawMessage, error) {
	return func(ctx context.Context, job tools.Job) (json.RawMessage, error) {
		var in In
		if err := json.Unmarshal(job.Input, &in); err != nil {
			return nil, fmt.Errorf("read the input: %w", err)
		}
		if !filepath.IsAbs(job.Workspace) {
			return nil, errors.New("the session has no folder to work in")
		}
		root, err := os.OpenRoot(job.Workspace)
		if err != nil {
			return nil, fmt.Errorf("open the workspace: %w", withoutPath(err))
		}
		defer root.Close()
		out, err := work(ctx, root, in, job.Artifact)
		if err != nil {
			return nil, withoutPath(err)
		}
		return json.Marshal(out)
	}
}

// withoutPath returns an error without the path of the workspace, which does not belong in an agent's log.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	var between *os.LinkError
	if errors.As(err, &between) {
		return fmt.Errorf("%s: %w", between.New, between.Err)
	}
	return err
}

// local checks the syntax of a path and cleans it. The os.Root checks links.
func local(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("a path is needed")
	case strings.ContainsRune(name, 0):
		return "", errors.New("a path has no zero byte")
	case path.IsAbs(name) || filepath.IsAbs(name):
		return "", errors.New("absolute paths are not allowed; name a path within the workspace")
	case !filepath.IsLocal(name):
		return "", errors.New("the path escapes the workspace")
	}
	return filepath.Clean(name), nil
}

// writable is local for a path to change, and refuses a path that names version control.
func writable(name string) (string, error) {
	name, err := local(name)
	if err != nil {
		return "", err
	}
	if tools.Guarded(name) {
		return "", errGuarded
	}
	if name == "." {
		return "", errors.New("the path names the workspace itself")
	}
	return name, nil
}

// open opens a regular file to read. It does not block: it refuses a pipe without a writer.
func (l Limits) open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err == nil {
		err = l.visible(file)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// pending is a written file that is not in its place yet.
type pending struct {
	folder          *os.Root // the folder itself, even if its name changes
	temporary, name string
	// check reports whether the file may still be renamed to its name.
	check func() error
}

// replace writes a file to a temporary name and renames it: readers get the old or the new file, and a link to the old
// one or a second name of it keeps its target.
func (l Limits) replace(root *os.Root, name string, content []byte, perm fs.FileMode) (err error) {
	written, err := l.prepare(root, name, content, perm)
	if err != nil {
		return err
	}
	return written.commit()
}

func (l Limits) prepare(root *os.Root, name string, content []byte, perm fs.FileMode) (*pending, error) {
	if err := errors.Join(replaceable(root, name), l.changeable(root, root, name)); err != nil {
		return nil, err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	folder, err := l.folderOf(root, name)
	if err != nil {
		return nil, err
	}
	one := &pending{folder, ".harness-" + rand.Text(), filepath.Base(name),
		func() error { return l.changeable(root, folder, filepath.Base(name)) }}
	file, err := folder.OpenFile(one.temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, one.drop())
	}
	return one, nil
}

// folderOf opens and checks the folder of a file to change, so that the change goes to the checked folder.
func (l Limits) folderOf(root *os.Root, name string) (*os.Root, error) {
	folder, err := root.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if err := l.changeable(root, folder, filepath.Base(name)); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

// remove deletes a file.
func (l Limits) remove(root *os.Root, name string) error {
	folder, err := l.folderOf(root, name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Remove(filepath.Base(name)), folder.Close())
}

// commit renames the file to its name.
func (p *pending) commit() error {
	err := p.check()
	if err == nil {
		err = p.folder.Rename(p.temporary, p.name)
	}
	if err != nil {
		return errors.Join(err, p.drop())
	}
	return p.folder.Close()
}

// drop deletes the temporary file.
func (p *pending) drop() error { return errors.Join(p.folder.Remove(p.temporary), p.folder.Close()) }

// replaceable refuses to replace anything but a file: a folder, a device, a link.
func replaceable(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link; change what it leads to by its own path", name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", name)
	}
	return nil
}
