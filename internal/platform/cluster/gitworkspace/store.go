package gitworkspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// snapshotRef is the name of a snapshot in a bundle.
	snapshotRef = "refs/harness-snapshot"
	// markFolder marks a folder, and is not one of its files.
	markFolder = ".harness-workspace"
)

// signature is the constant author and time of snapshots, so that equal files make the same commit.
const signature = "Harness <harness@localhost> 0 +0000"

// refusedError is the reason why a folder cannot be stored as it is.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// Store stores a folder as it is, under a name, and replaces what was stored under that name. A name has parts of
// letters, digits, "-", "_" and ".", separated by slashes. Store returns the snapshot's id for Restore. It omits files
// that git ignores, and empty folders. refusal is the reason why the folder cannot be stored as it is, "" if it was
// stored.
func (s *Store) Store(ctx context.Context, name, folder string) (snapshot, refusal string, err error) {
	ctx, release, err := s.use(ctx)
	if err != nil {
		return "", "", err
	}
	defer release()
	if !isName(name) {
		return "", "", fmt.Errorf("%q is no name of a snapshot", name)
	}
	snapshot, err = s.store(ctx, name, folder)
	if refused := refusedError(""); errors.As(err, &refused) {
		return "", string(refused), nil
	}
	return snapshot, "", err
}

func (s *Store) store(ctx context.Context, name, folder string) (snapshot string, err error) {
	repository, err := inspect(folder)
	if err != nil {
		return "", err
	}
	place, err := s.newScratch(strings.ReplaceAll(name, "/", ","))
	if err != nil {
		return "", err
	}
	git := s.within(place, folder, false)
	if err := git.init(ctx, "--bare"); err != nil {
		return "", err
	}
	before, err := s.has(ctx, refs+name)
	if err != nil {
		return "", err
	}
	if snapshot, err = git.snapshot(ctx, repository); err != nil {
		return "", err
	}
	if snapshot != before {
		if err := s.bundle(ctx, git, name, before); err != nil {
			return "", err
		}
	}
	return snapshot, s.push(ctx, name, snapshot)
}

// bundle copies the snapshot that git made in its place into this server's repository, which has the snapshot before
// it.
func (s *Store) bundle(ctx context.Context, git confined, name, before string) (err error) {
	bundle := filepath.Join(s.opts.Dir, "outgoing.bundle")
	defer func() { err = errors.Join(err, removed(bundle)) }()
	err = git.bundle(ctx, bundle, before)
	if failed := (*CommandError)(nil); before != "" && errors.As(err, &failed) && ctx.Err() == nil {
		err = git.bundle(ctx, bundle, "") // earlier objects are missing
	}
	if err != nil {
		return refusal(ctx, "its history cannot be read", err)
	}
	return s.importSnapshot(ctx, bundle, name)
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// inspect reports whether a folder is a repository. It returns refusedError if the folder alone does not contain the
// whole repository.
func inspect(folder string) (repository bool, err error) {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() {
		return false, refusedError(fmt.Sprintf("%s is not a folder any more", folder))
	}
	for above := filepath.Dir(folder); ; above = filepath.Dir(above) {
		if info, err := gitOf(above); err == nil && info != nil {
			return false, refusedError(fmt.Sprintf("its folder is one of the repository %s, of which it would be cut off", above))
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	info, err = gitOf(folder)
	if err != nil || info == nil {
		return false, err
	}
	if !info.IsDir() {
		return false, refusedError("its folder is a work tree of a repository elsewhere (.git points out of it)")
	}
	for _, sign := range []struct{ file, why string }{
		{"shallow", "its repository has a part of its history only; git fetch --unshallow has the rest"},
		{"objects/info/alternates", "its repository takes objects from another one; git repack -a -d makes it whole"},
	} {
		if _, err := os.Lstat(filepath.Join(folder, ".git", filepath.FromSlash(sign.file))); err == nil {
			return false, refusedError(sign.why)
		}
	}
	return true, nil
}

// gitOf returns the entry that makes a folder a repository or a work tree, nil for neither. An empty .git does not
// count: the sandbox of a killed agent leaves one.
func gitOf(folder string) (fs.FileInfo, error) {
	path := filepath.Join(folder, ".git")
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !info.IsDir() {
		return info, err
	}
	if entries, err := os.ReadDir(path); err == nil && len(entries) == 0 {
		return nil, nil
	}
	return info, nil // an unreadable entry counts
}

// snapshot makes a commit of the folder's files. For a repository it adds the repository's description, and all targets
// of its references as parents.
func (c confined) snapshot(ctx context.Context, isRepository bool) (string, error) {
	exclude := ":(exclude,top)" + markFolder
	// With the attributes of the files, the copy's line endings could differ.
	if err := c.write(ctx, scratchPlace+"/info/attributes", "* -text -filter -ident -working-tree-encoding\n"); err != nil {
		return "", err
	}
	settings := []string{"-c", "core.excludesFile=" + folderPlace + "/.git/info/exclude", "-c", "advice.addEmbeddedRepo=false",
		"-c", "core.compression=1", "-c", "core.autocrlf=false", "-c", "core.symlinks=true", "-c", "core.fileMode=true"}
	if _, err := c.git(ctx, nil, append(settings, "add", "--all", "--", ".", exclude)...); err != nil {
		return "", refusal(ctx, "its files cannot be read", err)
	}
	if err := c.checkFiles(ctx); err != nil {
		return "", err
	}
	files, err := c.line(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	tree, parents := "040000 tree "+files+"\tfiles\n", ""
	if isRepository {
		own, err := c.readRepository(ctx)
		if err != nil {
			return "", refusal(ctx, "its repository cannot be read", err)
		}
		text, err := own.encode()
		if err != nil {
			return "", err
		}
		described, err := c.line(ctx, bytes.NewReader(text), "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		tree += "100644 blob " + described + "\trepository.json\n"
		if own.index != "" {
			tree += "040000 tree " + own.index + "\tindex\n"
		}
		for _, parent := range own.commits() {
			parents += "parent " + parent + "\n"
		}
	}
	whole, err := c.line(ctx, strings.NewReader(tree), "mktree")
	if err != nil {
		return "", err
	}
	commit := "tree " + whole + "\n" + parents + "author " + signature + "\ncommitter " + signature + "\n\nThe folder of a session\n"
	made, err := c.line(ctx, strings.NewReader(commit), "hash-object", "-t", "commit", "-w", "--stdin")
	if err == nil && !isObject(made) {
		err = fmt.Errorf("git calls a commit %q", made)
	}
	if err == nil {
		_, err = c.git(ctx, nil, "update-ref", snapshotRef, made)
	}
	return made, err
}

// refusal returns git's error about a folder, which stays the same until the folder changes.
func refusal(ctx context.Context, why string, err error) error {
	if failed := (*CommandError)(nil); errors.As(err, &failed) && ctx.Err() == nil {
		return refusedError(why + ": " + failed.Said)
	}
	return err
}

// checkFiles refuses a folder with repositories in it: git would record their places but omit their files.
func (c confined) checkFiles(ctx context.Context) error {
	found := finder{prefix: []byte("160000 ")}
	if err := c.run(ctx, nil, &found, "git", "ls-files", "--stage", "-z"); err != nil {
		return err
	}
	if found.is {
		_, path, _ := strings.Cut(string(found.record), "\t")
		return refusedError(fmt.Sprintf("it contains another repository (%s), whose files would not be stored", path))
	}
	return nil
}

// finder finds the first record with a prefix among NUL-terminated records.
type finder struct {
	prefix, record []byte
	is             bool
}

func (f *finder) Write(chunk []byte) (int, error) {
	n := len(chunk)
	for len(chunk) > 0 && !f.is {
		end := bytes.IndexByte(chunk, 0)
		if end < 0 {
			f.record = append(f.record, chunk...)
			break
		}
		f.record = append(f.record, chunk[:end]...)
		if f.is = bytes.HasPrefix(f.record, f.prefix); !f.is {
			f.record, chunk = f.record[:0], chunk[end+1:]
		}
	}
	return n, nil
}

// write writes one of git's own files.
func (c confined) write(ctx context.Context, path, content string) error {
	return c.run(ctx, strings.NewReader(content), io.Discard, "sh", "-c", `mkdir -p "${0%/*}" && cat >"$0"`, path)
}

// bundle writes the objects of the snapshot that the one before it does not have into a file of this server.
func (c confined) bundle(ctx context.Context, path, before string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	args := []string{"git", "bundle", "create", "--quiet", "-", snapshotRef}
	if before != "" {
		args = append(args, "^"+before)
	}
	to := &bounded{to: file, left: MaxBundleBytes}
	err = c.run(ctx, nil, to, args...)
	if to.left < 0 {
		return refusedError(fmt.Sprintf("what is new in its folder is more than %d MiB; have git ignore what can be made again",
			MaxBundleBytes>>20))
	}
	return err
}

// bounded accepts a number of bytes and no more.
type bounded struct {
	to   io.Writer
	left int64
}

func (b *bounded) Write(chunk []byte) (int, error) {
	if b.left -= int64(len(chunk)); b.left < 0 {
		return 0, errors.New("it is too much")
	}
	return b.to.Write(chunk)
}

// isName reports whether a text can be a name of snapshots: neither git nor a file system may give it another meaning.
func isName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "-") || strings.HasSuffix(part, ".lock") ||
			strings.HasSuffix(part, ".") || strings.Contains(part, "..") {
			return false
		}
		for _, r := range part {
			if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r) {
				return false
			}
		}
	}
	return true
}

// isObject reports whether a text is an object's id.
func isObject(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}
