package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"harness/runtime"
	"harness/runtime/wire"
)

// field is a field of a form an MCP server wants to be filled in: MCP allows texts, numbers, flags and choices, and nothing nested.
type field struct {
	name        string
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []choice `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
}

// choice is a value that can be chosen and how it is shown.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// formOf reads the fields of a form, in their order. What cannot be read is no field.
func formOf(schema json.RawMessage) (fields []field, required []string) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	_ = json.Unmarshal(schema, &s)
	decoder := json.NewDecoder(bytes.NewReader(s.Properties))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, s.Required
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			break
		}
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			break
		}
		f := field{}
		_ = json.Unmarshal(raw, &f)
		f.name, _ = name.(string)
		fields = append(fields, f)
	}
	return fields, s.Required
}

// choices are the values of a field, nil when any will do.
func (f field) choices() []choice {
	named := append(slices.Clone(f.OneOf), f.Items.AnyOf...)
	for i, value := range append(slices.Clone(f.Enum), f.Items.Enum...) {
		title := value
		if i < len(f.EnumNames) {
			title = f.EnumNames[i]
		}
		named = append(named, choice{value, title})
	}
	if f.Type == "boolean" {
		named = []choice{{"true", "true"}, {"false", "false"}}
	}
	return named
}

// questions words a form as the questions of the agent's own are, so that whoever can answer those can fill it in.
func questions(schema json.RawMessage) json.RawMessage {
	fields, required := formOf(schema)
	asked := make([]wire.Question, 0, len(fields))
	for _, f := range fields {
		q := wire.Question{ID: wire.Clean(f.name), Header: wire.Clean(firstOf(f.Title, f.name)), Question: wire.Clean(firstOf(f.Description, f.Title, f.name))}
		if !slices.Contains(required, f.name) {
			q.Question += " (optional)"
		}
		for _, c := range f.choices() {
			o := wire.Option{Label: wire.Clean(c.Title)}
			if c.Title != c.Const {
				o.Description = wire.Clean(c.Const)
			}
			q.Options = append(q.Options, o)
		}
		asked = append(asked, q)
	}
	encoded, err := encode(asked)
	if err != nil {
		return nil // texts and flags always encode
	}
	return bytes.TrimSpace(encoded)
}

// filled makes the content of a form of the answers to its questions.
func filled(fields []field, answers json.RawMessage) (map[string]json.RawMessage, error) {
	var given map[string]struct{ Answers []string }
	_ = json.Unmarshal(answers, &given) // none when there are none
	content := map[string]json.RawMessage{}
	for _, f := range fields {
		texts := slices.DeleteFunc(given[f.name].Answers, func(text string) bool { return strings.TrimSpace(text) == "" })
		delete(given, f.name)
		if len(texts) == 0 {
			continue
		}
		value, err := f.value(texts)
		if err != nil {
			return nil, &runtime.ReplyError{Field: "answers", Message: fmt.Sprintf("%q %s", f.name, err)}
		}
		content[f.name] = value
	}
	for name := range given {
		return nil, &runtime.ReplyError{Field: "answers", Message: fmt.Sprintf("the form has no field %q", name)}
	}
	return content, nil
}

// value reads the answers to one question as the field's type wants them.
func (f field) value(texts []string) (json.RawMessage, error) {
	if choices := f.choices(); choices != nil {
		for i, text := range texts {
			at := slices.IndexFunc(choices, func(c choice) bool { return text == c.Const || text == c.Title })
			if at < 0 {
				return nil, fmt.Errorf("has no choice %q", text)
			}
			texts[i] = choices[at].Const
		}
	}
	if f.Type == "array" {
		return encode(texts)
	}
	if len(texts) > 1 {
		return nil, fmt.Errorf("takes one answer, not %d", len(texts))
	}
	text := strings.TrimSpace(texts[0])
	switch f.Type {
	case "boolean":
		return json.RawMessage(text), nil
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fmt.Errorf("is a whole number, not %q", text)
		}
		return json.RawMessage(strings.TrimPrefix(text, "+")), nil
	case "number":
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("is a number, not %q", text)
		}
		return encode(number)
	}
	return encode(texts[0])
}
