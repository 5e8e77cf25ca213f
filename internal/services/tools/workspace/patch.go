package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"harness/internal/services/tools"
)

const (
	patchInput = `{"type":"object","properties":{"patch":{"type":"string"},"strip":{"type":"number"},"check":{"type":"boolean"},` +
		`"reverse":{"type":"boolean"}},"required":["patch"],"additionalProperties":false}`
	patchOutput = `{"type":"object","properties":{"ok":{"type":"boolean"},"checked":{"type":"boolean"},"stdout":{"type":"string"},` +
		`"stderr":{"type":"string"}},"required":["ok","checked"],"additionalProperties":false}`
)

type patchOf struct {
	Patch   string   `json:"patch"`
	Strip   *float64 `json:"strip"`
	Check   bool     `json:"check"`
	Reverse bool     `json:"reverse"`
}

type patchResult struct {
	OK      bool   `json:"ok"`
	Checked bool   `json:"checked"`
	Stdout  string `json:"stdout,omitempty"`
}

func (l Limits) patch() tools.Tool {
	return tools.Tool{
		Name: "patch.apply", Description: "Apply a unified diff patch to the workspace.", Class: tools.Write,
		Input: json.RawMessage(patchInput), Output: json.RawMessage(patchOutput),
		Run: run(func(_ context.Context, root *os.Root, in patchOf) (patchResult, error) {
			if int64(len(in.Patch)) > l.PatchBytes {
				return patchResult{}, fmt.Errorf("the patch has %d bytes, above the limit of %d", len(in.Patch), l.PatchBytes)
			}
			changes, err := l.changes(root, in)
			if err != nil {
				return patchResult{}, err
			}
			var lines strings.Builder
			for _, one := range changes {
				fmt.Fprintln(&lines, one.String())
			}
			if !in.Check {
				err = l.apply(root, changes)
			}
			return patchResult{OK: err == nil, Checked: in.Check, Stdout: lines.String()}, err
		}),
	}
}

// change is the effect of a patch on one file.
type change struct {
	from, to string // "" if it did not exist, or will be deleted
	content  []byte
	perm     fs.FileMode
}

// String formats the change as a line of git's short status.
func (c change) String() string {
	switch {
	case c.from == "":
		return "A " + c.to
	case c.to == "":
		return "D " + c.from
	case c.from != c.to:
		return "R " + c.from + " -> " + c.to
	}
	return "M " + c.to
}

// changes computes the effects of a patch on the workspace without changing it.
func (l Limits) changes(root *os.Root, in patchOf) ([]change, error) {
	text := in.Patch
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the patch cannot be read: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("there is no patch in the input")
	}
	git := strings.HasPrefix(text, "diff --git ") || strings.Contains(text, "\ndiff --git ")
	var changes []change
	named := map[string]bool{}
	for _, file := range files {
		if err := rename(file, in.Strip, git); err != nil {
			return nil, err
		}
		if in.Reverse {
			reverse(file)
		}
		one, err := l.changeOf(root, file)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Compact([]string{one.from, one.to}) {
			if named[name] {
				return nil, fmt.Errorf("the patch changes %s twice", name)
			}
			named[name] = name != ""
		}
		changes = append(changes, one)
	}
	return changes, nil
}

// rename strips leading elements of the names. The parser has already stripped one in git's own headers.
func rename(file *gitdiff.File, strip *float64, git bool) error {
	parts := 1
	if strip != nil {
		parts = int(*strip)
	}
	if git {
		parts--
	}
	if parts < 0 {
		return errors.New("names in git's own patches begin with a part of their own; leave strip out")
	}
	for _, name := range []*string{&file.OldName, &file.NewName} {
		if *name == "" {
			continue
		}
		split := strings.SplitN(*name, "/", parts+1)
		if len(split) <= parts {
			// Models often write patches without a/ and b/.
			if strip != nil {
				return fmt.Errorf("%s has no %d leading parts to strip", *name, parts)
			}
			continue
		}
		if !git && strip == nil && split[0] != "a" && split[0] != "b" {
			continue
		}
		*name = split[parts]
	}
	return nil
}

func reverse(file *gitdiff.File) {
	file.OldName, file.NewName = file.NewName, file.OldName
	file.IsNew, file.IsDelete = file.IsDelete, file.IsNew
	file.OldMode, file.NewMode = file.NewMode, file.OldMode
	for _, fragment := range file.TextFragments {
		fragment.OldPosition, fragment.NewPosition = fragment.NewPosition, fragment.OldPosition
		for i, line := range fragment.Lines {
			switch line.Op {
			case gitdiff.OpAdd:
				fragment.Lines[i].Op = gitdiff.OpDelete
			case gitdiff.OpDelete:
				fragment.Lines[i].Op = gitdiff.OpAdd
			}
		}
	}
}

func (l Limits) changeOf(root *os.Root, file *gitdiff.File) (c change, err error) {
	switch {
	case file.IsBinary:
		return c, fmt.Errorf("%s: binary patches are not applied; write the file", cmp.Or(file.NewName, file.OldName))
	case special(file.NewMode) || special(file.OldMode):
		return c, fmt.Errorf("%s: links and modules are not made by a patch", cmp.Or(file.NewName, file.OldName))
	case file.IsCopy:
		return c, fmt.Errorf("%s: a copy is not made by a patch; write the file", file.NewName)
	}
	var before []byte
	name := cmp.Or(file.OldName, file.NewName)
	c.perm = usualMode
	if !file.IsNew {
		if c.from, err = writable(file.OldName); err != nil {
			return c, fmt.Errorf("%s: %w", file.OldName, err)
		}
		if err := errors.Join(replaceable(root, c.from), l.changeable(root, root, c.from)); err != nil {
			return c, err
		}
		opened, info, err := l.open(root, c.from)
		if err != nil {
			return c, err
		}
		c.perm = info.Mode().Perm()
		before, err = io.ReadAll(io.LimitReader(opened, l.WriteBytes+1))
		if err := errors.Join(err, opened.Close()); err != nil {
			return c, err
		}
	}
	if !file.IsDelete {
		if c.to, err = writable(file.NewName); err != nil {
			return c, fmt.Errorf("%s: %w", file.NewName, err)
		}
		if err := l.changeable(root, root, c.to); err != nil {
			return c, err
		}
		if c.from != c.to {
			if _, there := permissions(root, c.to); there {
				return c, fmt.Errorf("%s is there already", c.to)
			}
		}
	}
	if file.NewMode != 0 {
		c.perm = file.NewMode.Perm()
	}
	if c.content, err = patched(string(before), file.TextFragments); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case int64(max(len(before), len(c.content))) > l.WriteBytes:
		return c, fmt.Errorf("%s is above the limit of %d bytes", file.NewName, l.WriteBytes)
	case file.IsDelete && len(c.content) > 0:
		return c, fmt.Errorf("%s has more in it than the patch deletes", c.from)
	}
	return c, nil
}

// special returns the mode of a file that is not regular; the parser keeps git's own numbers.
func special(mode fs.FileMode) bool {
	const kind, regular = 0o170000, 0o100000
	return mode&kind != 0 && mode&kind != regular
}

// patched returns a text with the fragments applied, each at the match nearest to its stated line.
func patched(text string, fragments []*gitdiff.TextFragment) ([]byte, error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out strings.Builder
	done, moved := 0, 0 // consumed lines of the text, and the last fragment's distance from its stated line
	for number, fragment := range fragments {
		var was []string
		for _, line := range fragment.Lines {
			if line.Old() {
				was = append(was, line.Line)
			}
		}
		says := int(fragment.OldPosition)
		if len(was) > 0 {
			says-- // lines count from 1; a fragment that only adds names the line before it
		}
		at := place(lines, was, done, says+moved)
		if at < 0 {
			return nil, fmt.Errorf("part %d (line %d) does not fit: the file reads otherwise", number+1, fragment.OldPosition)
		}
		moved = at - says
		for _, line := range lines[done:at] {
			out.WriteString(line)
		}
		for _, line := range fragment.Lines {
			if line.New() {
				out.WriteString(line.Line)
			}
		}
		done = at + len(was)
	}
	for _, line := range lines[done:] {
		out.WriteString(line)
	}
	return []byte(out.String()), nil
}

// place returns where was occurs in lines, from "from" on, nearest to "wanted"; -1 if nowhere.
func place(lines, was []string, from, wanted int) int {
	if len(was) == 0 { // only additions: they go to the stated line
		return min(max(wanted, from), len(lines))
	}
	best := -1
	for at := from; at+len(was) <= len(lines); at++ {
		if best >= 0 && abs(at-wanted) >= abs(best-wanted) {
			break
		}
		if equal(lines[at:at+len(was)], was) {
			best = at
		}
	}
	return best
}

func equal(lines, was []string) bool {
	for i := range was {
		if lines[i] != was[i] {
			return false
		}
	}
	return true
}

func abs(n int) int { return max(n, -n) }

// apply makes the changes: it writes every new file to a temporary name before it moves the first one.
func (l Limits) apply(root *os.Root, changes []change) (err error) {
	var written []*pending
	defer func() {
		for _, one := range written {
			err = errors.Join(err, one.drop())
		}
	}()
	for _, one := range changes {
		if one.to == "" {
			continue
		}
		next, err := l.prepare(root, one.to, one.content, one.perm)
		if err != nil {
			return err
		}
		written = append(written, next)
	}
	for _, one := range changes {
		if one.to != "" {
			next := written[0]
			written = written[1:]
			if err := next.commit(); err != nil {
				return err
			}
		}
		if one.from != "" && one.from != one.to {
			if err := l.remove(root, one.from); err != nil {
				return err
			}
		}
	}
	return nil
}
