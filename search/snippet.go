package search

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Mark is a stretch of a snippet that was looked for, in UTF-16 units: from Start on, up to before End.
type Mark struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// before and snippetBytes are how much of a text a snippet shows before the first mark, and at all.
const (
	before       = 60
	snippetBytes = 240
)

// snippetOf is the part of a text that has the first word looked for, with what is marked in it.
func snippetOf(text string, want wanted) (snippet string, marks []Mark) {
	if len(text) > maxText {
		text = text[:maxText]
	}
	marks = []Mark{}
	from, to := 0, min(len(text), snippetBytes)
	eachWord(text, func(word string, at, _ int) bool {
		if !want.has(word) {
			return true
		}
		from = start(text, max(0, at-before))
		to = min(len(text), from+snippetBytes)
		return false
	})
	to = start(text, to)
	snippet = text[from:to]
	units, counted := 0, 0
	count := func(upTo int) int {
		for _, r := range snippet[counted:upTo] {
			units += max(1, utf16.RuneLen(r))
		}
		counted = upTo
		return units
	}
	eachWord(snippet, func(word string, at, end int) bool {
		if want.has(word) {
			first := count(at)
			marks = append(marks, Mark{first, count(end)})
		}
		return true
	})
	return snippet, marks
}

// start is the beginning of the character at an offset.
func start(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
