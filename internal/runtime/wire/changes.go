package wire

import (
	"encoding/json"
	"strings"
)

// ChangedFile is one file that an item or a request changes.
type ChangedFile struct {
	Path string `json:"path"`
	// Kind is add, delete or update. MovePath is the new name of a moved file, "" for others.
	Kind     string `json:"kind"`
	MovePath string `json:"movePath,omitempty"`
	// Added and Removed count lines.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Diff is a unified diff, or the whole text of a file that is added or deleted. Cut reports that the end is missing.
	Diff string `json:"diff"`
	Cut  bool   `json:"cut,omitempty"`
}

// Bounds of FileChanges.
const (
	maxChanged = 50
	maxDiff    = 32 << 10 // bytes of one file
	maxDiffs   = 128 << 10
)

// FileChanges returns the changes in an item or in a request to change files. It cuts long ones.
func FileChanges(about json.RawMessage) []ChangedFile {
	var all []ChangedFile
	left := maxDiffs
	for change := range Elements(Members(about, "changes")[0]) {
		given := Members(change, "path", "kind", "diff")
		kind := Members(given[1], "type", "move_path")
		one := ChangedFile{Path: Text(given[0]), Kind: Text(kind[0]), MovePath: Text(kind[1]), Diff: Text(given[2])}
		if one.Path == "" || len(all) == maxChanged {
			break
		}
		one.count()
		if most := min(maxDiff, left); len(one.Diff) > most {
			one.Diff, one.Cut = strings.ToValidUTF8(one.Diff[:most], ""), true
		}
		left -= len(one.Diff)
		all = append(all, one)
	}
	return all
}

// count counts the lines of the diff.
func (c *ChangedFile) count() {
	unified := strings.HasPrefix(c.Diff, "@@") || strings.HasPrefix(c.Diff, "---") || strings.HasPrefix(c.Diff, "diff ")
	inside := false
	for line := range strings.Lines(c.Diff) {
		switch {
		case !unified && c.Kind == "delete":
			c.Removed++
		case !unified:
			c.Added++
		case strings.HasPrefix(line, "@@"):
			inside = true
		case !inside:
		case line[0] == '+':
			c.Added++
		case line[0] == '-':
			c.Removed++
		}
	}
}
