package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// pass is one go test command: packages, flags, and additional environment.
type pass struct {
	packages, flags, env []string
}

// detectTag runs the servers of end-to-end tests with the race detector if the tests ask for it (tests/programtest).
const detectTag = "detect"

// plain lists the tests that run without the race detector: whole packages by folder, and single tests of others by
// folder.
type plain struct {
	packages []string
	tests    map[string][]string
}

// readPlain reads a list: a folder per line, which may end with "/...", followed by the names of tests if only those
// are meant.
func readPlain(path string) (plain, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return plain{}, err
	}
	list := plain{tests: map[string][]string{}}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 1:
			list.packages = append(list.packages, fields[0])
		case len(fields) > 1:
			list.tests[fields[0]] = append(list.tests[fields[0]], fields[1:]...)
		}
	}
	return list, nil
}

// has reports whether the whole package of a folder is in the list.
func (p plain) has(folder string) bool {
	return slices.ContainsFunc(p.packages, func(pattern string) bool {
		parent, tree := strings.CutSuffix(pattern, "/...")
		return folder == parent || tree && strings.HasPrefix(folder, parent+"/")
	})
}

// split makes the passes of a go test command with -race: tests in the list run without it. Each test runs in one pass.
func split(dir string, args []string, list plain) ([]pass, error) {
	flags, patterns := separate(args)
	if len(patterns) == 0 {
		return []pass{{flags: args}}, nil
	}
	folders, paths, err := listed(dir, patterns)
	if err != nil {
		return nil, err
	}
	chooses := slices.ContainsFunc(flags, func(flag string) bool { return chooser.MatchString(flag) })
	var raced, whole, some, names []string
	for i, folder := range folders {
		switch {
		case list.has(folder):
			whole = append(whole, paths[i])
			continue
		case !chooses && len(list.tests[folder]) > 0:
			some, names = append(some, paths[i]), append(names, list.tests[folder]...)
		}
		raced = append(raced, paths[i])
	}
	slices.Sort(names)
	only := "^(" + strings.Join(slices.Compact(names), "|") + ")$"
	rest := flags
	if len(names) > 0 {
		rest = append([]string{"-skip", only}, flags...)
	}
	bare := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return strings.Contains(flag, "-race") })
	shipped := []string{"CGO_ENABLED=0", "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath")}
	return slices.DeleteFunc([]pass{
		{raced, rest, nil},
		{whole, slices.Concat([]string{"-tags", detectTag}, bare), shipped},
		{some, slices.Concat([]string{"-run", only}, bare), shipped},
	}, func(p pass) bool { return len(p.packages) == 0 }), nil
}

// chooser matches flags with which the caller selects tests.
var chooser = regexp.MustCompile(`^--?(test\.)?(run|skip|list|bench|fuzz)(=|$)`)

// separate separates the flags of go test, which come first, from the packages. A flag's value may be a separate
// argument.
func separate(args []string) (flags, patterns []string) {
	for i := len(args); i > 0; i-- {
		if arg := args[i-1]; !strings.HasPrefix(arg, ".") && !strings.HasSuffix(arg, "...") {
			return args[:i], args[i:]
		}
	}
	return nil, args
}

// listed returns the packages of patterns, in order: folders in the list's format, and import paths.
func listed(dir string, patterns []string) (folders, paths []string, err error) {
	module, err := goList(dir, "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, nil, err
	}
	root := strings.TrimSpace(module) + "/"
	all, err := goList(dir, append([]string{"-find", "-f", "{{.ImportPath}}\t{{.Dir}}"}, patterns...)...)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(all) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders, paths = append(folders, strings.TrimPrefix(folder, root)), append(paths, path)
	}
	return folders, paths, nil
}

func goList(dir string, args ...string) (string, error) {
	var said bytes.Buffer
	list := exec.Command("go", append([]string{"list"}, args...)...) //nolint:gosec // the caller's packages
	list.Dir, list.Stderr = dir, &said
	out, err := list.Output()
	if err != nil {
		return "", errors.Join(err, fmt.Errorf("go list %s: %s", strings.Join(args, " "), said.String()))
	}
	return string(out), nil
}
