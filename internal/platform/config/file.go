package config

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/parsers/json"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/v2"
)

// configEnv is the environment variable with the path of the config file. It is not a Variable because a config file
// cannot name itself.
const configEnv = "HARNESS_CONFIG"

// fileLayer reads a YAML or JSON object whose keys are variable names in any case (port, DATA_DIR). It refuses an
// unknown key: a typo must not silently become a default.
func fileLayer(path string, consent Consent) (layer, error) {
	parser, err := parserFor(path)
	if err != nil {
		return layer{}, err
	}
	text, err := ReadFile(path)
	if err != nil {
		return layer{}, &FileError{Path: path, Reason: "cannot read the config file", Err: err}
	}
	if consent != nil {
		if err := consent(path, text); err != nil {
			return layer{}, &FileError{Path: path, Reason: "a .env names it as config file, and " + err.Error()}
		}
	}
	parsed, err := parser.Unmarshal(text)
	if err != nil {
		// The parsers' messages quote the text around the error, which may be a secret.
		reason := "the config file must be one object of variable: value"
		if line := faultLine(text, err); line > 0 {
			reason = fmt.Sprintf("line %d cannot be read; %s", line, reason)
		}
		return layer{}, &FileError{Path: path, Reason: reason}
	}
	values := make(map[string]any)
	for key, value := range parsed {
		v, ok := find(key)
		if !ok {
			return layer{}, &FileError{Path: path, Reason: noVariable(text, key)}
		}
		if _, twice := values[v.Key()]; twice {
			// The order in the file is no longer known.
			return layer{}, &FileError{Path: path, Reason: fmt.Sprintf("%s is there twice, in different case", v.Name)}
		}
		values[v.Key()] = value
	}
	maps.DeleteFunc(values, func(_ string, value any) bool { return value == nil })
	return layer{SourceFile, values}, nil
}

// faultLine returns the line of a parser's error, 0 if the parser does not report one.
func faultLine(text []byte, err error) int {
	var syntax *stdjson.SyntaxError
	if errors.As(err, &syntax) {
		return 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
	}
	found := regexp.MustCompile(`\bline (\d+)`).FindStringSubmatch(err.Error()) // from YAML
	if found == nil {
		return 0
	}
	line, _ := strconv.Atoi(found[1]) // digits
	if strings.Contains(err.Error(), "did not find expected") {
		line++ // errors from the parser, unlike those from its scanner, count lines from 0
	}
	return line
}

// noVariable returns the message for an unknown key of a config file, with its line and the setting that was probably
// meant.
func noVariable(text []byte, key string) string {
	at := ""
	if found := regexp.MustCompile(`(?m)^[\s{,]*["']?` + regexp.QuoteMeta(key) + `["']?\s*:`).FindIndex(text); found != nil {
		at = fmt.Sprintf("line %d: ", 1+bytes.Count(text[:found[1]], []byte("\n")))
	}
	if was, is := findGone(key); is {
		return fmt.Sprintf("%s%s: %s", at, was.name, was.says())
	}
	if nearest := Nearest(key); nearest != "" {
		return fmt.Sprintf("%s%q is no variable; did you mean %s? Names are listed by `harness config print`", at, key, nearest)
	}
	return fmt.Sprintf("%s%q is no variable; names are listed by `harness config print`", at, key)
}

func parserFor(path string) (koanf.Parser, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return yaml.Parser(), nil
	case ".json":
		return json.Parser(), nil
	}
	return nil, &FileError{Path: path, Reason: "the config file's name must end in .yaml, .yml or .json"}
}

func find(key string) (Variable, bool) {
	all := Variables()
	i := slices.IndexFunc(all, func(v Variable) bool { return v.Name == strings.ToUpper(key) })
	if i < 0 {
		return Variable{}, false
	}
	return all[i], true
}

// rawText converts a value of any source to its form in the environment. False means a shape (an object, or a list for
// a plain value) that no variable accepts.
func rawText(value any, v Variable) (string, bool) {
	switch t := value.(type) {
	case nil:
		return "", true
	case string:
		return t, true
	case bool:
		return strconv.FormatBool(t), true
	case int:
		return strconv.Itoa(t), true
	case int64:
		return strconv.FormatInt(t, 10), true
	case float64: // every number in JSON
		return strconv.FormatFloat(t, 'f', -1, 64), true
	case []any:
		return joinList(t, v)
	default:
		return fmt.Sprint(t), false
	}
}

func joinList(items []any, v Variable) (string, bool) {
	sep := v.separator
	if sep == "" {
		sep = ","
	}
	var texts []string
	for _, item := range items {
		text, ok := item.(string)
		if !ok || strings.Contains(text, sep) {
			return fmt.Sprint(items), false
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, sep), v.Type() == "list"
}
