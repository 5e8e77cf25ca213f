package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/joho/godotenv"
)

// dotenvFile is the content of a `.env`: values by Key, and the config file that it names.
type dotenvFile struct {
	values  map[string]any
	path    string
	unknown []string
	// notes describe its ignored parts.
	notes []string
}

// dotenvLayer reads a `.env`; a missing one is an empty layer. It ignores foreign variables and lines that are not
// assignments: the file commonly belongs to another program, in that program's dialect. A file with variables of ours
// counts only with consent. It can name programs to run and open the server to others, and anyone with write access to
// the folder may have written it.
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

// ownAssignments reads the assignments to names of ours, and ignores everything else.
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
			// The parser's message quotes the line, which may contain a secret.
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

// expands reports whether the parser would expand a "$": a password "ab$cd" would silently become "ab". codex-manager's
// own reader of the same file does not expand it.
func expands(value string) bool {
	return value != "" && !strings.HasPrefix(value, "'") && !strings.HasPrefix(value, "#") &&
		strings.Contains(strings.ReplaceAll(value, `\$`, ""), "$")
}

// isOwn reports whether a name in a .env is a setting, or has the prefix that only this program uses.
func isOwn(name string) bool {
	_, known := find(name)
	_, was := findGone(name)
	return (known || was) && strings.ToUpper(name) == name || strings.HasPrefix(name, ownPrefix)
}
