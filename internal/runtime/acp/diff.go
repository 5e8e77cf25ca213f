package acp

import (
	"fmt"
	"strings"

	"harness/internal/runtime/wire"
)

// contextLines is the number of unchanged lines around a change in a diff.
const contextLines = 3

// editOf returns a change of a file, from the text before and after.
func editOf(c toolContent, deletes bool) edit {
	e := edit{Path: bounds(c.Path, maxText), Kind: "update"}
	if c.OldText == nil {
		e.Kind, e.Diff = "add", c.NewText
	} else {
		e.Diff = unified(*c.OldText, c.NewText)
	}
	if deletes {
		e.Kind = "delete"
	}
	e.Diff = bounds(e.Diff, maxDiff)
	return e
}

// compared returns the members of a line to read in full at any length: texts to compare.
func compared(raw []byte) []string {
	if wire.Long(raw, "oldText") {
		return []string{"oldText", "newText"}
	}
	return nil
}

// unified returns a unified diff of one hunk, from the first different line to the last one; "" without a change. An
// agent shows only the lines around an edit, so one hunk is enough.
func unified(before, after string) string {
	if before == after {
		return ""
	}
	old, changed := lines(before), lines(after)
	start := 0
	for start < len(old) && start < len(changed) && old[start] == changed[start] {
		start++
	}
	end := 0
	for end < len(old)-start && end < len(changed)-start && old[len(old)-1-end] == changed[len(changed)-1-end] {
		end++
	}
	first, rest := max(0, start-contextLines), max(0, end-contextLines)
	var out strings.Builder
	at := func(from, count int) string {
		if count == 0 {
			return fmt.Sprintf("%d,0", from)
		}
		return fmt.Sprintf("%d,%d", from+1, count)
	}
	fmt.Fprintf(&out, "@@ -%s +%s @@\n", at(first, len(old)-rest-first), at(first, len(changed)-rest-first))
	write := func(sign string, some []string) {
		for _, line := range some {
			out.WriteString(sign + line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write(" ", old[first:start])
	write("-", old[start:len(old)-end])
	write("+", changed[start:len(changed)-end])
	write(" ", old[len(old)-end:len(old)-rest])
	return out.String()
}

// lines returns the lines of a text, with their line ends.
func lines(text string) []string {
	list := strings.SplitAfter(text, "\n")
	if list[len(list)-1] == "" {
		return list[:len(list)-1]
	}
	return list
}
