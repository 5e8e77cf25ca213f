package config

import (
	"iter"
	"slices"
	"strings"
)

// ownPrefix starts the names that are this program's alone, so that one which is no setting is most likely a typing
// error.
const ownPrefix = "HARNESS_"

// unknownNames are those of this program's names that are no setting. Names of its tests and of its build are not
// checked, nor are those of the commands that call a server.
func unknownNames(names iter.Seq[string]) []string {
	var unknown []string
	for name := range names {
		if !strings.HasPrefix(name, ownPrefix) || strings.HasPrefix(name, "HARNESS_TEST_") {
			continue
		}
		if slices.Contains(furtherNames(), name) {
			continue
		}
		if _, known := find(name); !known {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// furtherNames returns this program's names that are no setting of the server.
func furtherNames() []string {
	return []string{configEnv, trustEnv, "HARNESS_CACHE", "HARNESS_URL", "HARNESS_SESSION_TOKEN", "HARNESS_TOKEN",
		"HARNESS_TOKEN_FILE", "HARNESS_PROFILE"}
}

// Nearest returns the name that was most likely meant by one that is no setting, "" when none is near.
func Nearest(name string) string {
	known := furtherNames()
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	name = strings.ToUpper(name)
	bare := strings.TrimPrefix(name, ownPrefix)
	best, nearest := len(bare)/3+1, ""
	for _, one := range known {
		// Many settings have no prefix, and more are written with one than have it.
		far := min(distance(name, one), distance(bare, one), distance(bare, strings.TrimPrefix(one, ownPrefix)))
		if far < best {
			best, nearest = far, one
		}
	}
	return nearest
}

// distance is how many letters of one text have to be put in, taken out, changed or swapped with the next to make it the
// other one.
func distance(a, b string) int {
	before, row, next := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			changed := row[j]
			if a[i] != b[j] {
				changed++
			}
			next[j+1] = min(changed, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, make([]int, len(b)+1)
	}
	return row[len(b)]
}

// environNames returns the names of an environment as os.Environ gives it.
func environNames(environ []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, assignment := range environ {
			name, _, _ := strings.Cut(assignment, "=")
			if !yield(name) {
				return
			}
		}
	}
}
