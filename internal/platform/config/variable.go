package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Variable describes one setting. Type and allowed values have one home: here.
type Variable struct {
	Name    string   // environment name, e.g. PORT
	Group   string   // heading in the documentation
	Default string   // as written in the environment; "" is unset
	Enum    []string // allowed words, for a choice
	Min     int64    // bounds for numbers, minimal length for secrets
	Max     int64    // 0 is no upper bound
	Allowed string   // description of what check accepts; derived when empty
	Secret  bool     // never printed, never a flag (a command line is public)
	Doc     string   // one line

	emptySet  bool                // an empty value is a value, which overrides weaker sources
	path      bool                // relative values are taken from the working directory
	separator string              // separator of a list; "," unless set
	check     func(string) bool   // further test of the (single) value
	show      func(string) string // redacts a value that is only partly secret
	field     func(*Config) any   // pointer to the field; its type is the variable's type
}

// Key returns the variable's name in a config file.
func (v Variable) Key() string { return strings.ToLower(v.Name) }

// Flag returns the name of its command-line flag without dashes, "" for a secret.
func (v Variable) Flag() string {
	if v.Secret {
		return ""
	}
	name := strings.TrimPrefix(v.Key(), "harness_")
	return strings.ReplaceAll(name, "_", "-")
}

// Type returns the kind of value in one word, for usage texts.
func (v Variable) Type() string {
	switch v.field(new(Config)).(type) {
	case *bool:
		return "bool"
	case *int:
		return "int"
	case *time.Duration:
		return "ms"
	case *[]string:
		return "list"
	default:
		return "string"
	}
}

// Accepts describes the allowed values; it ends every error message.
func (v Variable) Accepts() string {
	if v.Allowed != "" {
		return v.Allowed
	}
	if len(v.Enum) > 0 {
		return strings.Join(v.Enum, ", ")
	}
	switch v.Type() {
	case "bool":
		return "true, false"
	case "int", "ms":
		text := fmt.Sprintf("a whole number >= %d", v.Min)
		if v.Max > 0 {
			text = fmt.Sprintf("a whole number from %d to %d", v.Min, v.Max)
		}
		if v.Type() == "ms" {
			text += " (milliseconds)"
		}
		return text
	}
	if v.Secret && v.Min > 0 {
		return fmt.Sprintf("at least %d characters", v.Min)
	}
	return "text"
}

// set parses raw into the field; false means that raw is not allowed.
func (v Variable) set(c *Config, raw, dir string) bool {
	if len(v.Enum) > 0 && raw != v.Default && !contains(v.Enum, raw) {
		return false
	}
	switch p := v.field(c).(type) {
	case *bool:
		*p = raw == "true"
		return raw == "true" || raw == "false"
	case *int:
		n, ok := v.number(raw)
		*p = int(n)
		return ok
	case *time.Duration:
		n, ok := v.number(raw)
		*p = time.Duration(n) * time.Millisecond
		return ok
	case *[]string:
		*p = v.split(raw)
		for i, item := range *p {
			if v.check != nil && !v.check(item) {
				return false
			}
			if v.path {
				(*p)[i] = absolute(dir, item)
			}
		}
		return true
	case *string:
		return v.setText(p, raw, dir)
	default:
		panic(fmt.Sprintf("config: %s has a field of type %T, which no rule can parse", v.Name, p))
	}
}

func (v Variable) setText(p *string, raw, dir string) bool {
	if v.Secret {
		raw = strings.TrimSpace(raw)
	}
	*p = raw
	if raw == "" {
		return true // whether one is required is a rule between variables: see validate.go
	}
	if v.Secret && int64(len(raw)) < v.Min {
		return false
	}
	if v.check != nil && !v.check(raw) {
		return false
	}
	if v.path {
		*p = absolute(dir, raw)
	}
	return true
}

// number accepts decimal digits only: "1e3", "0x10" and "10 s" are refused.
func (v Variable) number(raw string) (int64, bool) {
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil || n < v.Min || (v.Max > 0 && n > v.Max) {
		return 0, false
	}
	// A duration is counted in nanoseconds, and would overflow beyond this.
	if v.Type() == "ms" && n > int64(1<<63-1)/int64(time.Millisecond) {
		return 0, false
	}
	return n, true
}

func (v Variable) split(raw string) []string {
	sep := v.separator
	if sep == "" {
		sep = ","
	}
	var out []string
	for item := range strings.SplitSeq(raw, sep) {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// text formats the field as in the environment: the inverse of set.
func (v Variable) text(c *Config) string {
	switch p := v.field(c).(type) {
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *time.Duration:
		return strconv.FormatInt(p.Milliseconds(), 10)
	case *[]string:
		sep := v.separator
		if sep == "" {
			sep = ","
		}
		return strings.Join(*p, sep)
	case *string:
		return *p
	default:
		return ""
	}
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func contains(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}
