package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/joho/godotenv"
)

// dotenvFile is what a `.env` gives: values by Key and the config file it names.
type dotenvFile struct {
	values  map[string]any
	path    string
	unknown []string
	// notes say what of it was passed over.
	notes []string
}

// dotenvLayer reads a `.env`; a missing one is an empty layer. Variables that are not ours are ignored, and so
// are lines that are no assignment: the file is commonly that of another program, in its dialect. A file with
// variables of ours counts only with consent: it names programs to run and doors to open, and anyone who can
// write the folder wrote it.
func dotenvLayer(path string, consent Consent) (dotenvFile, error) {
	text, err := ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dotenvFile{}, nil
	case errors.Is(err, ErrNoFile), errors.Is(err, ErrTooLong):
		return dotenvFile{notes: []string{fmt.Sprintf("%s is passed over: %s", path, err)}}, nil
	case err != nil:
		return dotenvFile{}, &FileError{Path: path, Reason: "cannot read", Err: err}
	}
	f := dotenvFile{values: make(map[string]any)}
	set, err := f.ownAssignments(path, strings.TrimPrefix(string(text), "\ufeff"))
	if err != nil {
		return dotenvFile{}, err
	}
	f.path, f.unknown = set[configEnv], unknownNames(maps.Keys(set))
	for _, v := range Variables() {
		if raw, is := set[v.Name]; raw != "" || is && v.emptySet {
			f.values[v.Key()] = raw
		}
	}
	if _, is := set[trustEnv]; is {
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

// ownAssignments reads the assignments to names that are ours and passes over all else.
func (f *dotenvFile) ownAssignments(path, text string) (map[string]string, error) {
	all, others := statements(text)
	set := map[string]string{}
	for _, one := range all {
		if !isOwn(one.name) {
			continue
		}
		if was, is := findGone(one.name); is && one.value != "" {
			return nil, &FileError{Path: path, Reason: fmt.Sprintf("line %d: %s: %s", one.line, one.name, was.says())}
		}
		if _, known := find(one.name); known && expands(one.value) {
			return nil, &FileError{Path: path, Reason: fmt.Sprintf("line %d: the value of %s contains $; put it in single quotes",
				one.line, one.name)}
		}
		parsed, err := godotenv.Unmarshal(one.text)
		value, is := parsed[one.name]
		if err != nil || !is || one.open {
			// The parser's message quotes the line, and with it perhaps a secret.
			return nil, &FileError{Path: path, Reason: fmt.Sprintf("line %d is not %s=value", one.line, one.name)}
		}
		set[one.name] = value
	}
	if len(others) > 0 {
		f.notes = append(f.notes, fmt.Sprintf("%s: %d lines are not NAME=value and are passed over; the first is line %d", path,
			len(others), others[0]))
	}
	return set, nil
}

// expands reports a "$" that the parser would expand: a password "ab$cd" would silently become "ab", which
// codex-manager's own reader of the same file does not do.
func expands(value string) bool {
	return value != "" && !strings.HasPrefix(value, "'") && !strings.HasPrefix(value, "#") &&
		strings.Contains(strings.ReplaceAll(value, `\$`, ""), "$")
}

// isOwn reports whether a name of a .env is a setting, or begins as those of this program alone.
func isOwn(name string) bool {
	_, known := find(name)
	_, was := findGone(name)
	return (known || was) && strings.ToUpper(name) == name || strings.HasPrefix(name, ownPrefix)
}
