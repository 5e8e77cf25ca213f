package shadow

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// notesRef has the notes as files of one commit without a history.
const notesRef = "refs/harness/notes"

// Notes returns those of the named notes that exist.
func (s *Shadow) Notes(ctx context.Context, names []string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in strings.Builder
	for _, name := range names {
		in.WriteString(notesRef + ":" + notePath(name) + "\n")
	}
	out, err := s.git(ctx, []byte(in.String()), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	found, from := map[string][]byte{}, bufio.NewReader(bytes.NewReader(out))
	for _, name := range names {
		row, err := from.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("read notes: %w", err)
		}
		fields := strings.Fields(row)
		if fields[len(fields)-1] == "missing" {
			continue
		}
		size, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			return nil, fmt.Errorf("read notes: %w", err)
		}
		text := make([]byte, size+1) // git ends it with a line feed
		if _, err := io.ReadFull(from, text); err != nil {
			return nil, fmt.Errorf("read notes: %w", err)
		}
		found[name] = text[:size]
	}
	return found, nil
}

// AddNotes stores notes under names of hexadecimal digits. They are kept as long as the shadow.
func (s *Shadow) AddNotes(ctx context.Context, notes map[string][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(notes) == 0 {
		return nil
	}
	had, err := s.tree(ctx, notesRef+"^{tree}")
	if err != nil {
		return err
	}
	var in bytes.Buffer
	in.WriteString("commit " + notesRef + "\ncommitter harness <> 1 +0000\ndata 0\n")
	if had != "" {
		in.WriteString("M 040000 " + had + " \n")
	}
	for name, text := range notes {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", notePath(name), len(text), text)
	}
	_, err = s.git(ctx, in.Bytes(), "fast-import", "--quiet", "--force")
	return err
}

// notePath spreads the notes over 256 folders, so that a new one costs one small folder.
func notePath(name string) string { return name[:2] + "/" + name[2:] }

// Entry returns the content of a path in a tree, and its size in bytes; "" if the tree has no such file.
func (s *Shadow) Entry(ctx context.Context, tree, path string) (blob string, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.git(ctx, nil, "--literal-pathspecs", "ls-tree", "-l", "-z", "--full-tree", tree, "--", path)
	switch {
	case err != nil && exited(err): // the path is outside of the folder
		return "", 0, nil
	case err != nil:
		return "", 0, err
	}
	about, name, _ := strings.Cut(strings.TrimSuffix(string(out), "\x00"), "\t")
	fields := strings.Fields(about)
	if len(fields) != 4 || fields[1] != "blob" || name != path {
		return "", 0, nil
	}
	size, err = strconv.ParseInt(fields[3], 10, 64)
	return fields[2], size, err
}

// LinePatch returns the difference of two trees as a patch made with flags of git diff-tree, at most MaxPatch bytes.
func (s *Shadow) LinePatch(ctx context.Context, from, to string, flags []string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := bounded{most: MaxPatch}
	err := s.run(ctx, s.opts.Limit, nil, &out, append(append([]string{"diff-tree"}, flags...), from, to)...)
	return out.Bytes(), err
}
