// Package shadow stores the states of a folder in a git directory beside it, and compares and restores them.
//
// It owns how git is run on a folder whose files are not trusted. The git directory (the shadow) is this program's own.
// So the hooks, filters, drivers and settings of a repository in the folder are never read, and nothing of them runs.
// The person's repository is not changed. The package must never know what a session or a turn is.
package shadow

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options configure a Shadow. Folder and Dir are required, absolute paths.
type Options struct {
	// Folder is the folder whose states are stored.
	Folder string
	// Dir is the shadow. It is made if it is missing; its parent must exist. Users of the folder must not reach it.
	Dir string
	// Git is the program ("git" by default).
	Git string
	// MaxFile is the size in bytes above which a file is left out (32 MiB by default).
	MaxFile int64
	// MaxPaths bounds the paths of one capture (200,000 by default).
	MaxPaths int
	// MaxNew bounds the bytes that one capture stores (1 GiB by default).
	MaxNew int64
	// Limit bounds each git command (30 s by default): a FIFO named .gitignore would stop git for ever.
	Limit time.Duration
}

// Shadow stores the states of one folder. Make it with Open. Its methods may be called concurrently; one works at a time.
type Shadow struct {
	opts Options
	// objects are those of the folder's repository while they are copied, else "".
	objects string
	// index is the file of another index while that is used, else "".
	index string

	mu sync.Mutex
}

// RefusedError says why the states of a folder are not stored.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

// attributes keep bytes as they are: no attribute of the folder converts, filters or hides anything.
const attributes = "* -text -eol -ident -filter -working-tree-encoding !diff -merge\n"

// Open opens the shadow of a folder and makes it if it is missing. The files of the repository's last commit count as
// tracked then, so an ignored file that is committed is stored, too.
func Open(ctx context.Context, options Options) (*Shadow, error) {
	if options.Git == "" {
		options.Git = "git"
	}
	if options.MaxFile == 0 {
		options.MaxFile = 32 << 20
	}
	if options.MaxPaths == 0 {
		options.MaxPaths = 200_000
	}
	if options.MaxNew == 0 {
		options.MaxNew = 1 << 30
	}
	if options.Limit == 0 {
		options.Limit = 30 * time.Second
	}
	s := &Shadow{opts: options}
	info, err := os.Stat(options.Folder)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &RefusedError{options.Folder + " is not a folder"}
	}
	if err := removeStale(filepath.Join(options.Dir, "index.lock")); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.path("made")); err == nil {
		return s, nil
	}
	return s, s.make(ctx)
}

// removeStale removes the lock of a killed git. This program alone uses the shadow.
func removeStale(lock string) error {
	err := os.Remove(lock)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (s *Shadow) path(name string) string { return filepath.Join(s.opts.Dir, name) }

// make makes the shadow. Its last step is the file "made"; a shadow without it is made again.
func (s *Shadow) make(ctx context.Context) error {
	own := findRepository(s.opts.Folder)
	if err := s.layout(own); err != nil {
		return err
	}
	if head := own.head(); head != "" {
		if err := s.seed(ctx, own, head); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return os.WriteFile(s.path("made"), nil, 0o600)
}

// layout makes the git directory without objects.
func (s *Shadow) layout(own repository) error {
	if err := os.RemoveAll(s.opts.Dir); err != nil {
		return err
	}
	for _, name := range []string{"", "info", "refs", "objects", "objects/info", "objects/pack"} {
		if err := os.Mkdir(s.path(name), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string][]byte{
		"HEAD":            []byte("ref: refs/heads/none\n"),
		"config":          []byte("[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
		"info/attributes": []byte(attributes), "info/exclude": own.ignored(),
	} {
		if err := os.WriteFile(s.path(name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// maxCopied bounds the tracked files whose objects are copied.
const maxCopied = 256 << 20

// seed copies the tree of a commit of the folder's repository, and reads it into the shadow's index. The copy stays
// readable if the person amends the commit and collects garbage.
func (s *Shadow) seed(ctx context.Context, own repository, commit string) error {
	tree, err := s.copyTree(ctx, own, commit)
	if err != nil {
		return err
	}
	if _, err := s.git(ctx, nil, "read-tree", tree); err != nil {
		return err
	}
	return s.refresh(ctx)
}

// headRef keeps the tree of the last copied commit. The file "commit" names that commit.
const headRef = "refs/harness/head"

// copyTree copies what the shadow does not have of a commit's tree, and keeps it.
func (s *Shadow) copyTree(ctx context.Context, own repository, commit string) (tree string, err error) {
	had, err := s.tree(ctx, headRef)
	if err != nil {
		return "", err
	}
	s.objects = own.objects()
	defer func() { s.objects = "" }()
	if tree, err = s.line(ctx, nil, "rev-parse", "--verify", "--quiet", commit+"^{tree}"); err != nil {
		return "", err
	}
	if own.prefix != "" {
		if tree, err = s.line(ctx, nil, "rev-parse", "--verify", "--quiet", tree+":"+own.prefix); err != nil {
			return "", err
		}
	}
	names, err := s.git(ctx, nil, "ls-tree", "-r", "-l", "-z", tree)
	if err != nil {
		return "", err
	}
	if size := treeSize(names); size > maxCopied {
		return "", &RefusedError{fmt.Sprintf("the last commit has %d MiB, more than %d MiB", size>>20, maxCopied>>20)}
	}
	missing := []string{"rev-list", "--objects", "--no-object-names", tree}
	if had != "" {
		missing = append(missing, "^"+had)
	}
	if names, err = s.git(ctx, nil, missing...); err != nil {
		return "", err
	}
	if len(names) > 0 {
		if _, err := s.git(ctx, names, "-c", "pack.threads=1", "pack-objects", "-q", "--delta-base-offset", "--window=0",
			s.path("objects/pack/pack")); err != nil {
			return "", err
		}
	}
	s.objects = ""
	if err := s.keepTree(ctx, headRef, tree); err != nil {
		return "", err
	}
	return tree, os.WriteFile(s.path("commit"), []byte(commit), 0o600)
}

// Head returns the tree of the folder in the last commit of its repository, "" if there is none.
func (s *Shadow) Head(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := findRepository(s.opts.Folder)
	commit := own.head()
	switch {
	case commit == "":
		return "", nil
	case string(readSmall(s.path("commit"))) == commit:
		return s.tree(ctx, headRef)
	}
	tree, err := s.copyTree(ctx, own, commit)
	if err != nil && exited(err) { // an object is missing, or the folder is not in the commit
		return "", nil
	}
	return tree, err
}

// Keep keeps a tree under a name of the caller ("SESSION/TURN/0"), so that it is never collected. A name that is in use
// moves to the new tree.
func (s *Shadow) Keep(ctx context.Context, name, tree string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepTree(ctx, "refs/harness/"+name, tree)
}

func (s *Shadow) keepTree(ctx context.Context, ref, tree string) error {
	_, err := s.git(ctx, nil, "update-ref", ref, tree)
	return err
}

func (s *Shadow) tree(ctx context.Context, ref string) (string, error) {
	tree, err := s.line(ctx, nil, "rev-parse", "--verify", "--quiet", ref)
	if err != nil && exited(err) {
		return "", nil
	}
	return tree, err
}

// Names returns the names below a prefix ("SESSION") with their trees.
func (s *Shadow) Names(ctx context.Context, prefix string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	listed, err := s.git(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)", "refs/harness/"+prefix)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		tree, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[strings.TrimPrefix(ref, "refs/harness/")] = tree
	}
	return names, nil
}

// Drop removes all names below a prefix ("SESSION"). Their trees are collected by Collect.
func (s *Shadow) Drop(ctx context.Context, prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs, err := s.git(ctx, nil, "for-each-ref", "--format=delete %(refname)", "refs/harness/"+prefix)
	if err != nil || len(refs) == 0 {
		return err
	}
	_, err = s.git(ctx, refs, "update-ref", "--stdin")
	return err
}

// Collect packs the shadow and removes what neither a name nor the last capture has. It may take minutes in a large shadow.
func (s *Shadow) Collect(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, err := filepath.Glob(s.path("objects/pack/.tmp-*")) // of a killed git
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return err
	}
	if _, err := s.gitWithin(ctx, 10*s.opts.Limit, nil, "repack", "-a", "-d", "-q", "--threads=1"); err != nil {
		return err
	}
	_, err = s.gitWithin(ctx, 10*s.opts.Limit, nil, "prune", "--expire=now")
	return err
}

// Empty returns the tree without files.
func (s *Shadow) Empty(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line(ctx, nil, "mktree")
}

func (s *Shadow) line(ctx context.Context, in []byte, args ...string) (string, error) {
	out, err := s.git(ctx, in, args...)
	return strings.TrimSpace(string(out)), err
}
