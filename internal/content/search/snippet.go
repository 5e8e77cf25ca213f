package search

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Mark is a matching range of a snippet, in UTF-16 units: from Start up to, but not including, End.
type Mark struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// before and snippetBytes bound a snippet's text before the first mark, and in total.
const (
	before       = 60
	snippetBytes = 240
)

// snippetOf returns the part of a text around the first match, and the matches in it.
func snippetOf(text string, want wanted) (snippet string, marks []Mark) {
	text = prepared(text)
	marks = []Mark{}
	units := unitsOf(text)
	from := 0
	for i, u := range units {
		if want.at(units[i:]) > 0 {
			from = start(text, max(0, u.from-before))
			break
		}
	}
	to := start(text, min(len(text), from+snippetBytes))
	snippet = text[from:to]
	counted, upTo := 0, 0 // UTF-16 units before the byte offset upTo
	count := func(at int) int {
		for _, r := range snippet[upTo:at] {
			counted += max(1, utf16.RuneLen(r))
		}
		upTo = at
		return counted
	}
	units = unitsOf(snippet)
	for i := 0; i < len(units); {
		length := want.at(units[i:])
		if length > 0 {
			first := count(units[i].from)
			marks = append(marks, Mark{first, count(units[i+length-1].to)})
		}
		i += max(1, length)
	}
	return snippet, marks
}

// start returns the start of the character at an offset.
func start(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
