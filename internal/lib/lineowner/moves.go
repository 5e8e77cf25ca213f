package lineowner

import "strings"

const (
	// movedLines is the least number of lines of a block that moved; fewer are a coincidence.
	movedLines = 3
	// distinctRunes is the least length of a line that is not found everywhere.
	distinctRunes = 8
	// maxCandidates bounds the places that are compared with one line.
	maxCandidates = 64
)

// place is a removed line: line of a content with owners, which is the index-th line of a block.
type place struct {
	lines Lines
	line  int
	block []string
	index int
}

// moved finds the removed lines of a step, without their blanks.
type moved struct{ places map[string][]place }

func movesFrom(files []File) *moved {
	m := &moved{places: map[string][]place{}}
	for _, file := range files {
		for _, hunk := range file.Hunks {
			block := make([]string, len(hunk.Removed))
			for i, line := range hunk.Removed {
				block[i] = plain(line)
			}
			for i, line := range block {
				if len(m.places[line]) < maxCandidates {
					m.places[line] = append(m.places[line], place{file.Before, hunk.OldFrom + i, block, i})
				}
			}
		}
	}
	return m
}

// find returns where the longest block that begins the added lines was removed, and its number of lines, 0 for none.
func (m *moved) find(added []string) (from place, n int) {
	for _, candidate := range m.places[plain(added[0])] {
		long, distinct := 0, false
		for rest := candidate.block[candidate.index:]; long < min(len(rest), len(added)) && plain(added[long]) == rest[long]; long++ {
			distinct = distinct || len(rest[long]) >= distinctRunes
		}
		if distinct && long >= movedLines && long > n {
			from, n = candidate, long
		}
	}
	return from, n
}

// plain returns a line with its blanks made equal.
func plain(line string) string { return strings.Join(strings.Fields(line), " ") }
