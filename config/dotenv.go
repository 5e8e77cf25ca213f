package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"strings"

	"github.com/joho/godotenv"
)

// dotenvFile is what a `.env` gives: values by Key and the config file it names.
type dotenvFile struct {
	values  map[string]any
	path    string
	unknown []string
}

// dotenvLayer reads a `.env`; a missing one is an empty layer. Variables that
// are not ours are ignored: the file is commonly shared with other programs.
// One that has variables of ours counts only with consent: it names programs to
// run and doors to open, and whoever wrote the folder wrote it.
func dotenvLayer(path string, consent Consent) (dotenvFile, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return dotenvFile{}, nil
	}
	if err != nil {
		return dotenvFile{}, &FileError{Path: path, Reason: "cannot read", Err: err}
	}
	if err := refuseExpansion(path, string(text)); err != nil {
		return dotenvFile{}, err
	}
	parsed, err := godotenv.Unmarshal(string(text))
	if err != nil {
		// The parser's message quotes the line, and with it perhaps a secret.
		return dotenvFile{}, &FileError{Path: path, Reason: fmt.Sprintf("line %d is not NAME=value", badLine(string(text)))}
	}
	f := dotenvFile{values: make(map[string]any), path: parsed[configEnv], unknown: unknownNames(maps.Keys(parsed))}
	for _, v := range Variables() {
		if raw, set := parsed[v.Name]; raw != "" || set && v.emptySet {
			f.values[v.Key()] = raw
		}
	}
	if _, set := parsed[trustEnv]; set {
		return dotenvFile{}, &FileError{Path: path,
			Reason: trustEnv + " counts only in the environment: a file cannot consent to itself"}
	}
	if consent != nil && (len(f.values) > 0 || f.path != "") {
		if err := consent(path, text); err != nil {
			return dotenvFile{}, &FileError{Path: path, Reason: "it has settings of the server, and " + err.Error()}
		}
	}
	return f, nil
}

// refuseExpansion stops at a "$" that the parser would expand: a password
// "ab$cd" would silently become "ab", which codex-manager's own reader of the
// same file does not do.
func refuseExpansion(path, text string) error {
	assignment := regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z0-9_.]+)\s*[=:]\s*([^'\s#].*)$`)
	for i, line := range strings.Split(text, "\n") {
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if _, ours := find(m[1]); ours && strings.Contains(strings.ReplaceAll(m[2], `\$`, ""), "$") {
			return &FileError{Path: path, Reason: fmt.Sprintf("line %d: the value of %s contains $; put it in single quotes",
				i+1, m[1])}
		}
	}
	return nil
}

// badLine finds the first line after which the file no longer parses.
func badLine(text string) int {
	lines := strings.Split(text, "\n")
	good := 0
	for n := 1; n <= len(lines); n++ {
		if _, err := godotenv.Unmarshal(strings.Join(lines[:n], "\n") + "\n"); err == nil {
			good = n
		}
	}
	return good + 1
}
