package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// ChangedError is returned by Restore if files were changed in the meantime. No file was changed then.
type ChangedError struct{ Paths []string }

// Error implements error.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("files of the folder were changed in the meantime: %q", e.Paths)
}

// Restore changes the paths that differ between two states from the first to the second one. Other paths stay as they
// are. It returns *ChangedError if one of them is in neither state.
//
// A killed Restore is completed by another one: a file that git had only begun to write has the beginning of its
// content.
func (s *Shadow) Restore(ctx context.Context, now, then string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, err := s.capture(ctx)
	if err != nil {
		return err
	}
	paths, err := s.differing(ctx, now, then)
	if err != nil {
		return err
	}
	to := then
	if state.Tree != now {
		if err := s.checkPaths(ctx, paths, [3]string{state.Tree, now, then}); err != nil {
			return err
		}
		if to, err = s.replaced(ctx, state.Tree, then, paths); err != nil {
			return err
		}
	}
	if err := s.noteBegin(time.Now()); err != nil {
		return err
	}
	if _, err := s.git(ctx, nil, "read-tree", "-m", "-u", state.Tree, to); err != nil {
		if exited(err) {
			return errors.Join(&ChangedError{}, err)
		}
		return err
	}
	return nil
}

// checkPaths returns *ChangedError if a path is neither in the second nor in the third state, nor on its way between.
func (s *Shadow) checkPaths(ctx context.Context, paths []string, states [3]string) error {
	var has [3]map[string]string
	for i, tree := range states {
		var err error
		if has[i], err = s.entries(ctx, tree); err != nil {
			return err
		}
	}
	var changed []string
	for _, path := range paths {
		is, was, will := has[0][path], has[1][path], has[2][path]
		if is == was || is == will || is == "" {
			continue
		}
		begun, err := s.begins(ctx, is, will)
		if err != nil {
			return err
		}
		if !begun {
			changed = append(changed, path)
		}
	}
	if changed != nil {
		return &ChangedError{changed}
	}
	return nil
}

// begins reports whether the content of an entry is the beginning of that of another one.
func (s *Shadow) begins(ctx context.Context, part, whole string) (bool, error) {
	if part == "" || whole == "" {
		return false, nil
	}
	var contents [2][]byte
	for i, entry := range []string{part, whole} {
		var err error
		if contents[i], err = s.git(ctx, nil, "cat-file", "blob", strings.Fields(entry)[1]); err != nil {
			return false, err
		}
	}
	return bytes.HasPrefix(contents[1], contents[0]), nil
}

// Differing returns the paths that differ between two trees, both paths of a rename.
func (s *Shadow) Differing(ctx context.Context, from, to string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.differing(ctx, from, to)
}

func (s *Shadow) differing(ctx context.Context, from, to string) ([]string, error) {
	out, err := s.git(ctx, nil, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", from, to)
	return slices.Collect(paths(out)), err
}

// entries returns mode and object of each file of a tree.
func (s *Shadow) entries(ctx context.Context, tree string) (map[string]string, error) {
	out, err := s.git(ctx, nil, "ls-tree", "-r", "-z", tree)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for entry := range paths(out) {
		about, path, _ := strings.Cut(entry, "\t")
		parts := strings.Fields(about)
		if len(parts) != 3 {
			return nil, fmt.Errorf("git printed an entry that cannot be read: %q", entry)
		}
		all[path] = parts[0] + " " + parts[2]
	}
	return all, nil
}

// Replaced returns a tree with paths as they are in another one.
func (s *Shadow) Replaced(ctx context.Context, tree, from string, paths []string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replaced(ctx, tree, from, paths)
}

func (s *Shadow) replaced(ctx context.Context, tree, from string, paths []string) (string, error) {
	has, err := s.entries(ctx, from)
	if err != nil {
		return "", err
	}
	present, err := s.entries(ctx, tree)
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		delete(present, path)
	}
	for _, path := range paths {
		if entry := has[path]; entry != "" {
			present[path] = entry
		}
	}
	var info bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(present)) {
		fmt.Fprintf(&info, "%s\t%s\x00", present[path], path)
	}
	s.index = s.path("index.replaced")
	defer func() { s.index = "" }()
	for _, left := range []string{s.index, s.index + ".lock"} {
		if err := os.Remove(left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if _, err := s.git(ctx, info.Bytes(), "update-index", "-z", "--add", "--replace", "--index-info"); err != nil {
		return "", err
	}
	return s.line(ctx, nil, "write-tree")
}
