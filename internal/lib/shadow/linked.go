package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Location is where the repository of a folder is.
type Location struct {
	// Common is the git directory that all its worktrees share, Root the top of the folder's worktree.
	Common, Root string
	// Prefix is the folder within the worktree, "" for its top. Head is the last commit.
	Prefix, Head string
}

// Locate finds the repository of a folder. *RefusedError if it has none whose commits can be used.
func Locate(folder string) (Location, error) {
	own := findRepository(folder)
	if own.dir == "" {
		return Location{}, &RefusedError{folder + " is in no git repository"}
	}
	at := Location{Common: filepath.Clean(own.common), Root: own.root, Prefix: own.prefix, Head: own.head()}
	if at.Head == "" {
		return at, &RefusedError{"the repository of " + folder + " has no commit, shares objects with another one, " +
			"or has a format that is not known here"}
	}
	return at, nil
}

// linkLimit bounds a command on a whole worktree.
const linkLimit = 10 * time.Minute

// inRepository returns git in a repository of a person, with nothing of its configuration that would run a program.
func inRepository(common, folder string) *Shadow {
	return &Shadow{opts: Options{Folder: folder, Dir: common, Git: "git", Limit: linkLimit}}
}

// Resolve returns the commit that a name means in a repository. *RefusedError for an unknown name.
func (l Location) Resolve(ctx context.Context, name string) (string, error) {
	commit, err := inRepository(l.Common, l.Root).line(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil && exited(err) {
		return "", &RefusedError{"the repository has no commit " + name}
	}
	return commit, err
}

// AdminOf returns the git directory of a linked worktree with a name.
func (l Location) AdminOf(name string) string { return filepath.Join(l.Common, "worktrees", name) }

// Link adds a worktree without files, on a new branch at a commit. Its git directory is AdminOf the folder's name.
// *RefusedError if the branch exists, or is no name of a branch.
func (l Location) Link(ctx context.Context, folder, branch, commit string) error {
	if err := l.checkLinks(branch); err != nil {
		return err
	}
	git := inRepository(l.Common, filepath.Dir(folder))
	if _, err := git.line(ctx, nil, "check-ref-format", "--branch", branch); err != nil {
		return refusedOr(err, "no branch can have the name "+branch)
	}
	if _, err := git.line(ctx, nil, "show-ref", "--verify", "--quiet", "refs/heads/"+branch); err == nil {
		return &RefusedError{"the repository has a branch " + branch + " already"}
	} else if !exited(err) {
		return err
	}
	if _, err := git.line(ctx, nil, "worktree", "add", "--quiet", "--no-checkout", "--detach", folder, commit); err != nil {
		return err
	}
	own := inRepository(l.AdminOf(filepath.Base(folder)), folder)
	if _, err := own.line(ctx, nil, "symbolic-ref", "HEAD", "refs/heads/"+branch); err != nil {
		return err
	}
	_, err := own.line(ctx, nil, "update-ref", "refs/heads/"+branch, commit, strings.Repeat("0", len(commit)))
	return err
}

// refusedOr returns a refusal for a command that said no, or else its error.
func refusedOr(err error, reason string) error {
	if exited(err) {
		return &RefusedError{reason}
	}
	return err
}

// checkLinks refuses a repository in which git would write through a link.
func (l Location) checkLinks(branch string) error {
	names := []string{"", "worktrees", "refs", "refs/heads", "logs", "logs/refs", "logs/refs/heads", "objects"}
	for dir := path.Dir(branch); dir != "." && dir != "/"; dir = path.Dir(dir) {
		names = append(names, path.Join("refs/heads", dir), path.Join("logs/refs/heads", dir))
	}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(l.Common, name))
		if err == nil && !info.IsDir() {
			return &RefusedError{fmt.Sprintf("%s of the repository is no folder", name)}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Fill writes the files of a linked worktree that has none. dir is a directory of this program, which is removed.
// Bytes are as in the commit: no filter or attribute of the repository applies.
func Fill(ctx context.Context, folder, dir string) (err error) {
	s, own, err := temporary(ctx, folder, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if _, err := s.git(ctx, nil, "read-tree", "-m", "-u", own.head()); err != nil {
		return err
	}
	index, err := os.ReadFile(s.path("index"))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(own.dir, "index"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(index)
	return errors.Join(err, file.Close())
}

// Unsaved is what a linked worktree has that its branch does not have.
type Unsaved struct {
	// Branch is the branch that it is on, "" for none. Its commits stay when the worktree is removed.
	Branch string
	// Busy is a merge, rebase or the like that has not ended, "" for none.
	Busy string
	// Paths are files that are not committed, without ignored ones.
	Paths []string
}

// ReadUnsaved compares a linked worktree with its last commit. dir is a directory of this program, which is removed.
func ReadUnsaved(ctx context.Context, folder, dir string) (found Unsaved, err error) {
	s, own, err := temporary(ctx, folder, dir)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	head := strings.TrimSpace(string(readSmall(filepath.Join(own.dir, "HEAD"))))
	found.Branch, _ = strings.CutPrefix(head, "ref: refs/heads/")
	if found.Branch == head {
		found.Branch = ""
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(own.dir, name)); err == nil {
			found.Busy = name
		}
	}
	if _, err := s.git(ctx, nil, "read-tree", own.head()); err != nil {
		return found, err
	}
	names := map[string]bool{}
	listed, err := s.git(ctx, nil, "ls-files", "-z", "-m", "-d", "-o", "--exclude-standard")
	if err != nil {
		return found, err
	}
	for name := range bytes.SplitSeq(listed, []byte{0}) {
		if len(name) > 0 {
			names[string(name)] = true // a deleted file is listed twice
		}
	}
	found.Paths = slices.Sorted(maps.Keys(names))
	return found, nil
}

// temporary makes a git directory of this program for a worktree, with the objects of its repository.
func temporary(ctx context.Context, folder, dir string) (*Shadow, repository, error) {
	s := &Shadow{opts: Options{Folder: folder, Dir: dir, Git: "git", Limit: linkLimit}}
	own := findRepository(folder)
	if own.root != folder || own.head() == "" {
		return s, own, &RefusedError{folder + " is no worktree with a commit"}
	}
	s.objects = own.objects()
	return s, own, errors.Join(s.layout(own), ctx.Err())
}

// Unlink removes what a repository has of a linked worktree whose folder is gone. The branch stays.
func (l Location) Unlink(folder string) error {
	admin := l.AdminOf(filepath.Base(folder))
	if !l.has(folder) {
		return nil
	}
	if to := readSmall(filepath.Join(admin, "gitdir")); to != nil && strings.TrimSpace(string(to)) != filepath.Join(folder, ".git") {
		return nil // of another worktree with this name
	}
	return os.RemoveAll(admin)
}

// has reports whether a repository has a linked worktree. Links count as none: Link follows none.
func (l Location) has(folder string) bool {
	for _, dir := range []string{l.Common, filepath.Dir(l.AdminOf("x")), l.AdminOf(filepath.Base(folder))} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// DropBranch removes the branch that Link made for a folder, if it is still at its first commit. Call it before Unlink:
// without the worktree nothing shows that the branch is its own.
func (l Location) DropBranch(ctx context.Context, folder, branch, commit string) error {
	head := readSmall(filepath.Join(l.AdminOf(filepath.Base(folder)), "HEAD"))
	if !l.has(folder) || strings.TrimSpace(string(head)) != "ref: refs/heads/"+branch {
		return nil
	}
	if err := l.checkLinks(branch); err != nil {
		return err
	}
	_, err := inRepository(l.Common, l.Common).line(ctx, nil, "update-ref", "-d", "refs/heads/"+branch, commit)
	if err != nil && exited(err) {
		return nil // it is gone, or has other commits
	}
	return err
}
