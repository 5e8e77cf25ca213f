package shadow

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Kind is what happened to a path.
type Kind string

// The kinds of a change.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed"
	Retyped  Kind = "retyped" // a file became a link, or the reverse
)

// Change is one path that differs between two trees.
type Change struct {
	// Path is the path in the second tree; bytes, not necessarily UTF-8. From is the path in the first tree of a rename.
	Path, From string
	Kind       Kind
	// Mode is git's mode of the path in the second tree (100644, 100755, 120000), that of the first tree if it is deleted.
	Mode string
	// Added and Removed count lines. They are 0 if Binary is set.
	Added, Removed int
	Binary         bool
	// BlobFrom and BlobTo name the contents; zeros where there is none.
	BlobFrom, BlobTo string
}

// Compare returns what differs between two trees, ordered by path.
func (s *Shadow) Compare(ctx context.Context, from, to string) ([]Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.git(ctx, nil, "diff-tree", "-r", "-z", "-M", "-l1000", "--raw", "--numstat", "--no-ext-diff", "--no-textconv",
		"--no-color", "--ignore-submodules=all", "--no-abbrev", from, to)
	if err != nil {
		return nil, err
	}
	return parseChanges(out)
}

// parseChanges reads the raw rows, and then the counts, of "diff-tree -z --raw --numstat".
func parseChanges(out []byte) ([]Change, error) {
	next, stop := iter.Pull(paths(out))
	defer stop()
	var all []Change
	places := map[string]int{}
	for field, ok := next(); ok; field, ok = next() {
		about, isRaw := strings.CutPrefix(field, ":")
		if !isRaw {
			if err := addCounts(all, places, field, next); err != nil {
				return nil, err
			}
			continue
		}
		parts := strings.Fields(about)
		path, ok := next()
		if len(parts) != 5 || !ok {
			return nil, fmt.Errorf("git printed a row that cannot be read: %q", field)
		}
		change := Change{Path: path, Mode: parts[1], BlobFrom: parts[2], BlobTo: parts[3]}
		switch parts[4][0] {
		case 'A':
			change.Kind = Added
		case 'D':
			change.Kind, change.Mode = Deleted, parts[0]
		case 'R':
			change.Kind, change.From = Renamed, path
			change.Path, _ = next()
		case 'T':
			change.Kind = Retyped
		default:
			change.Kind = Modified
		}
		places[change.Path] = len(all)
		all = append(all, change)
	}
	return all, nil
}

// addCounts reads "ADDED REMOVED PATH"; a rename has an empty path and two more fields.
func addCounts(all []Change, places map[string]int, field string, next func() (string, bool)) error {
	parts := strings.SplitN(field, "\t", 3)
	if len(parts) != 3 {
		return fmt.Errorf("git printed a count that cannot be read: %q", field)
	}
	path := parts[2]
	if path == "" {
		_, _ = next()
		path, _ = next()
	}
	place, ok := places[path]
	if !ok {
		return fmt.Errorf("git counts a path that does not differ: %q", path)
	}
	if parts[0] == "-" {
		all[place].Binary = true
		return nil
	}
	var err error
	if all[place].Added, err = strconv.Atoi(parts[0]); err != nil {
		return err
	}
	all[place].Removed, err = strconv.Atoi(parts[1])
	return err
}

// paths yields fields that end with a zero byte.
func paths(out []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for field := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
			if len(field) > 0 && !yield(string(field)) {
				return
			}
		}
	}
}

// MaxPatch bounds the patch of one comparison in bytes.
const MaxPatch = 16 << 20

// Patch returns the difference of two trees as a patch, of the given paths or of all. A rename needs both of its paths.
// lines is the number of unchanged lines around a change.
func (s *Shadow) Patch(ctx context.Context, from, to string, lines int, only ...string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := bounded{most: MaxPatch}
	args := append([]string{"diff-tree", "-r", "-p", "-M", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color",
		"--full-index", "--ignore-submodules=all", "-U" + strconv.Itoa(lines), from, to, "--"}, only...)
	err := s.run(ctx, s.opts.Limit, nil, &out, args...)
	return out.Bytes(), err
}

// Content returns the bytes of a blob.
func (s *Shadow) Content(ctx context.Context, blob string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.git(ctx, nil, "cat-file", "blob", blob)
}
