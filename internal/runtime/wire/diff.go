package wire

import (
	"fmt"
	"path/filepath"
	"strings"
)

// TurnDiff adds changes of files to the unified diff of a turn. Paths in the folder cwd become relative to it, as in
// codex.
func TurnDiff(so, cwd string, edits []FileEdit) string {
	var out strings.Builder
	out.WriteString(so)
	for _, edit := range edits {
		path := edit.Path
		if inside, err := filepath.Rel(cwd, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(inside) {
			path = inside
		}
		path = strings.TrimPrefix(path, "/")
		from, to, body := "a/"+path, "b/"+path, hunks(edit.Diff)
		switch edit.Kind {
		case "add":
			from, body = "/dev/null", added(edit.Diff)
		case "delete":
			to = "/dev/null"
		}
		fmt.Fprintf(&out, "diff --git a/%s b/%s\n--- %s\n+++ %s\n%s", path, path, from, to, body)
	}
	return out.String()
}

// hunks returns a diff from its first hunk on; without a hunk, all of it.
func hunks(diff string) string {
	if at := strings.Index("\n"+diff, "\n@@ "); at > 0 {
		return diff[at:]
	}
	return diff
}

// added returns the hunk of a new file.
func added(text string) string {
	if text == "" {
		return ""
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ -0,0 +1,%d @@\n", len(lines))
	for _, line := range lines {
		out.WriteString("+" + line)
	}
	if !strings.HasSuffix(text, "\n") {
		out.WriteString("\n\\ No newline at end of file\n")
	}
	return out.String()
}
