// Package promises lists what this product must do, one row for each promise, with the tests that would fail if the
// promise broke.
//
// It owns the rows (the text files in this folder) and their page, docs/promises.md. Its test checks that both match
// the repository.
package promises

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"strings"
)

//go:embed *.txt mutants/*.txt
var files embed.FS

// Row is one promise.
type Row struct {
	// ID is the promise's name in tests, two letters and two digits.
	ID string
	// Promise is one plain sentence.
	Promise string
	// Open means that the promise is not kept, or only in part. Missing is the missing part, "" when all of it is
	// missing.
	Open    bool
	Missing string
	// Tests prove the promise, or the kept part of it. Each name is the folder of the package, a dot and the function.
	Tests []string
}

// Group is the promises about one subject.
type Group struct {
	Title string
	Rows  []Row
}

var rowLine = regexp.MustCompile(`^([A-Z]{2}-\d{2}) (\S.*\.)$`)

// Load reads the rows: "# " and a group's title; an id and its sentence; then, indented, "open" or "open: " with the
// missing part, and tests.
func Load() ([]Group, error) {
	var groups []Group
	err := eachLine(".", func(line string) (err error) {
		groups, err = add(groups, line)
		return err
	})
	return groups, err
}

// eachLine calls read with each line of a folder's text files. It stops at an error of read and adds file and line to
// it.
func eachLine(folder string, read func(line string) error) error {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := files.ReadFile(path.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if err := read(strings.TrimSuffix(line, "\n")); err != nil {
				return fmt.Errorf("%s:%d: %w", entry.Name(), number, err)
			}
		}
	}
	return nil
}

func add(groups []Group, line string) ([]Group, error) {
	if title, is := strings.CutPrefix(line, "# "); is {
		return append(groups, Group{Title: title}), nil
	}
	if line == "" {
		return groups, nil
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("%q comes before the first title", line)
	}
	group := &groups[len(groups)-1]
	if found := rowLine.FindStringSubmatch(line); found != nil {
		group.Rows = append(group.Rows, Row{ID: found[1], Promise: found[2]})
		return groups, nil
	}
	said, indented := strings.CutPrefix(line, "\t")
	if !indented || len(group.Rows) == 0 {
		return nil, fmt.Errorf("%q is no title, no row (an id and a sentence that ends with a full stop) and no part of one",
			line)
	}
	row := &group.Rows[len(group.Rows)-1]
	missing, isOpen := strings.CutPrefix(said, "open: ")
	if isOpen || said == "open" {
		row.Open, row.Missing = true, strings.TrimPrefix(missing, "open")
		return groups, nil
	}
	row.Tests = append(row.Tests, strings.Fields(said)...)
	return groups, nil
}

// Page returns docs/promises.md.
func Page(groups []Group) string {
	var out, tables strings.Builder
	kept, all := 0, 0
	out.WriteString(head)
	for _, group := range groups {
		keptHere := 0
		fmt.Fprintf(&tables, "\n## %s\n\n| id | promise | state | tests |\n|---|---|---|---|\n", group.Title)
		for _, row := range group.Rows {
			state, tests := "kept", links(row.Tests)
			switch {
			case !row.Open:
				keptHere++
			case row.Missing != "":
				state = "open: " + row.Missing
			default:
				state = "open"
			}
			if row.Open && tests != "" {
				tests = "in part: " + tests
			}
			fmt.Fprintf(&tables, "| %s | %s | %s | %s |\n", row.ID, row.Promise, state, tests)
		}
		fmt.Fprintf(&out, "| %s | %d | %d |\n", group.Title, keptHere, len(group.Rows)-keptHere)
		kept, all = kept+keptHere, all+len(group.Rows)
	}
	fmt.Fprintf(&out, "| all | %d | %d |\n", kept, all-kept)
	return out.String() + tables.String()
}

func links(tests []string) string {
	var out []string
	for _, test := range tests {
		folder, name := Split(test)
		out = append(out, fmt.Sprintf("[%s](../%s) `%s`", folder, folder, name))
	}
	return strings.Join(out, ", ")
}

// Split splits the name of a test into the folder of its package and its function.
func Split(test string) (folder, name string) {
	name = strings.TrimPrefix(path.Ext(test), ".")
	return strings.TrimSuffix(test, "."+name), name
}

// Command runs a row's test. It has all build tags that any test needs.
const Command = "go test -tags live ./FOLDER -run '^NAME$'"

const head = `# Promises

<!-- Generated from internal/promises: HARNESS_UPDATE=1 go test ./internal/promises -->

What this server promises, with the tests that fail if it breaks a promise. A row is kept when its tests show all of it;
a promise that is missing or partial is open. Run a row's test with

` + "    " + Command + `

Tests of e2e/live call real models, which costs money: set ` + "`RUN_LIVE_TESTS=1`" + ` and credentials.

| | kept | open |
|---|---|---|
`
