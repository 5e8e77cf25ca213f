package config

import (
	"iter"
	"slices"
	"strings"
)

// ownPrefix is the prefix of names that only this program uses. An unknown name with this prefix is probably a typo.
const ownPrefix = "HARNESS_"

// unknownNames returns the names of this program that are not settings. It does not check names of its tests, its
// build, and the commands that call a server.
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

// furtherNames returns this program's names that are not settings of the server.
func furtherNames() []string {
	return []string{configEnv, trustEnv, "HARNESS_CACHE", "HARNESS_URL", "HARNESS_SESSION_TOKEN", "HARNESS_TOKEN",
		"HARNESS_TOKEN_FILE", "HARNESS_PROFILE"}
}

// Nearest returns the setting that was probably meant by a name that is not one, "" if none is similar.
func Nearest(name string) string {
	known := furtherNames()
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	name = strings.ToUpper(name)
	bare := strings.TrimPrefix(name, ownPrefix)
	best, nearest := len(bare)/3+1, ""
	for _, one := range known {
		// Many settings have no prefix, and people often add one.
		far := min(distance(name, one), distance(bare, one), distance(bare, strings.TrimPrefix(one, ownPrefix)))
		if far < best {
			best, nearest = far, one
		}
	}
	return nearest
}

// distance returns how many letters of one text must be inserted, removed, changed or swapped with the next one to get
// the other text.
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

// environNames returns the names in an environment in the form of os.Environ.
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
