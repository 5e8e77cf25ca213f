// Package lineowner carries the owners of lines from one state of files to the next.
//
// It owns the rules of who wrote a line: an unchanged line keeps its owner, also when only its blanks change; a new line
// belongs to the owner of the step; a block that moved keeps its owners. The package must never read files, run git, nor
// know sessions: an owner is a name that the caller chooses.
package lineowner

import "slices"

// Range is the lines From to To, counted from 1, of one owner.
type Range struct {
	From, To int
	Owner    string
}

// Lines are the ranges of one content that have an owner, in order and without overlaps.
type Lines []Range

// Owner returns the owner of a line, "" for none.
func (l Lines) Owner(line int) string {
	i, found := slices.BinarySearchFunc(l, line, func(r Range, line int) int {
		switch {
		case r.To < line:
			return -1
		case r.From > line:
			return 1
		}
		return 0
	})
	if !found {
		return ""
	}
	return l[i].Owner
}

// add appends the lines from to to, joined with the last range if that has the same owner.
func (l Lines) add(from, to int, owner string) Lines {
	if owner == "" || to < from {
		return l
	}
	if last := len(l) - 1; last >= 0 && l[last].Owner == owner && l[last].To == from-1 {
		l[last].To = to
		return l
	}
	return append(l, Range{from, to, owner})
}

// within returns the ranges of the lines from to to, moved by shift lines.
func (l Lines) within(from, to, shift int) (found Lines) {
	for _, r := range l {
		found = found.add(max(r.From, from)+shift, min(r.To, to)+shift, r.Owner)
	}
	return found
}

// Hunk replaces the lines Removed, the first of which is OldFrom, by the lines Added, the first of which is NewFrom. A
// side without lines has the number of the line that would follow.
type Hunk struct {
	OldFrom, NewFrom int
	Removed, Added   []string
}

// File is one path that a step changed.
type File struct {
	// Before are the owners of the content before the step, nil for a new file.
	Before Lines
	// Hunks are the differences, in order. Those of blanks alone are left out.
	Hunks []Hunk
}

// Carry returns the owners of the lines of each file after a step. New lines get the given owner, "" for none.
func Carry(files []File, owner string) []Lines {
	gone := movesFrom(files)
	after := make([]Lines, len(files))
	for i, file := range files {
		after[i] = file.carry(owner, gone)
	}
	return after
}

// endOfFile is beyond the last line of any file.
const endOfFile = 1 << 40

func (f File) carry(owner string, gone *moved) (after Lines) {
	old, shift := 1, 0 // the next line before the step that is not handled, and its distance after it
	for _, hunk := range f.Hunks {
		after = after.join(f.Before.within(old, hunk.OldFrom-1, shift))
		for i := 0; i < len(hunk.Added); {
			from, n := gone.find(hunk.Added[i:])
			if n == 0 {
				after = after.add(hunk.NewFrom+i, hunk.NewFrom+i, owner)
				i++
				continue
			}
			after = after.join(from.lines.within(from.line, from.line+n-1, hunk.NewFrom+i-from.line))
			i += n
		}
		old = hunk.OldFrom + len(hunk.Removed)
		shift = hunk.NewFrom + len(hunk.Added) - old
	}
	return after.join(f.Before.within(old, endOfFile, shift))
}

func (l Lines) join(more Lines) Lines {
	for _, r := range more {
		l = l.add(r.From, r.To, r.Owner)
	}
	return l
}
