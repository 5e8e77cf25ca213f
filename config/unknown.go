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
// looked at, nor are those of the commands that call a server.
func unknownNames(names iter.Seq[string]) []string {
	var unknown []string
	for name := range names {
		if !strings.HasPrefix(name, ownPrefix) || strings.HasPrefix(name, "HARNESS_TEST_") {
			continue
		}
		switch name {
		case configEnv, trustEnv, "HARNESS_CACHE", "HARNESS_URL", "HARNESS_TOKEN", "HARNESS_TOKEN_FILE",
			"HARNESS_PROFILE":
			continue
		}
		if _, known := find(name); !known {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// environNames are the names of an environment as os.Environ gives it.
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
