package lineowner

import (
	"bytes"
	"fmt"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Patch returns the hunks of each path of a git patch without context lines (-U0), by the path after the step, or
// before it if the path is deleted. Binary files have none.
func Patch(patch []byte) (map[string][]Hunk, error) {
	files, _, err := gitdiff.Parse(bytes.NewReader(patch))
	if err != nil {
		return nil, fmt.Errorf("read a patch: %w", err)
	}
	hunks := map[string][]Hunk{}
	for _, file := range files {
		path := file.NewName
		if file.IsDelete {
			path = file.OldName
		}
		for _, fragment := range file.TextFragments {
			hunk := Hunk{OldFrom: int(fragment.OldPosition), NewFrom: int(fragment.NewPosition)}
			for _, line := range fragment.Lines {
				switch line.Op {
				case gitdiff.OpDelete:
					hunk.Removed = append(hunk.Removed, line.Line)
				case gitdiff.OpAdd:
					hunk.Added = append(hunk.Added, line.Line)
				case gitdiff.OpContext:
					return nil, fmt.Errorf("the patch of %s has lines of context", path)
				}
			}
			// git names the line before a side without lines.
			if len(hunk.Removed) == 0 {
				hunk.OldFrom++
			}
			if len(hunk.Added) == 0 {
				hunk.NewFrom++
			}
			hunks[path] = append(hunks[path], hunk)
		}
	}
	return hunks, nil
}

// PatchFlags are the flags of git diff-tree and git log for Patch: changes of blanks alone are none.
func PatchFlags() []string {
	return []string{"-p", "-r", "-U0", "-w", "-M50%", "-l1000", "--histogram", "--no-ext-diff", "--no-textconv", "--no-color",
		"--ignore-submodules=all"}
}
