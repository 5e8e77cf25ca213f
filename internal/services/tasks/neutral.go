package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// workspacePlaceholder replaces the session's folder in hashed values: the inputs of a runtime's own tools, and its
// configuration.
const workspacePlaceholder = "<CWD>"

// neutral returns an input without the names of the session's folder, so that its hash does not depend on them. An
// input without them stays unchanged.
func neutral(input json.RawMessage, folders []string) json.RawMessage {
	if len(folders) == 0 {
		return input
	}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return input
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return input
	}
	changed := false
	value = each(value, func(text string) string {
		out := text
		for _, folder := range folders {
			out = withoutFolder(out, folder)
		}
		changed = changed || out != text
		return out
	})
	if !changed {
		return input
	}
	return encode(value)
}

// each replaces the texts in a value, including names of members.
func each(value any, replace func(string) string) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case []any:
		for i := range v {
			v[i] = each(v[i], replace)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[replace(name)] = each(member, replace)
		}
		return out
	}
	return value
}

// withoutFolder replaces a folder's name where it is a whole path or the beginning of one.
func withoutFolder(text, folder string) string {
	var out strings.Builder
	from := 0
	for {
		at := strings.Index(text[from:], folder)
		if at < 0 {
			break
		}
		at += from
		end := at + len(folder)
		whole := (at == 0 || !inName(text[at-1])) && (end == len(text) || !inName(text[end]))
		if !whole {
			out.WriteString(text[from:end])
			from = end
			continue
		}
		out.WriteString(text[from:at])
		out.WriteString(workspacePlaceholder)
		from = end
	}
	out.WriteString(text[from:])
	return out.String()
}

// inName reports whether a byte may continue a file name.
func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("._-", c) >= 0
}
