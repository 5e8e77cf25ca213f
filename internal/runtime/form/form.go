// Package form converts MCP forms of tools and agents to questions for a user, and the answers to form content.
//
// It owns the JSON schemas that MCP allows. It must never know the requester.
package form

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// Form is a requested form.
type Form struct {
	fields []field
	// Required are the mandatory fields.
	Required []string
}

// field is a field of a form. MCP allows texts, numbers, flags and choices, without nesting.
type field struct {
	name        string
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []choice `json:"oneOf"`
	MinItems    int      `json:"minItems"`
	MaxItems    int      `json:"maxItems"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
}

// choice is a possible value with its label.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// Of reads the fields of a form in order, and skips unreadable ones.
func Of(schema json.RawMessage) (form Form) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	_ = json.Unmarshal(schema, &s)
	form.Required = s.Required
	decoder := json.NewDecoder(bytes.NewReader(s.Properties))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return form
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
		form.fields = append(form.fields, f)
	}
	return form
}

// Has reports whether the form has a field of that name.
func (form Form) Has(name string) bool {
	return slices.ContainsFunc(form.fields, func(f field) bool { return f.name == name })
}

// choices returns the values of a field, nil for any value.
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

// Questions converts a form to an agent's questions, so that a client that can answer those can also fill in the
// form.
func (form Form) Questions() []wire.Question {
	asked := make([]wire.Question, 0, len(form.fields))
	for _, f := range form.fields {
		q := wire.Question{ID: wire.Clean(f.name), Header: wire.Clean(cmp.Or(f.Title, f.name)),
			Question: wire.Clean(cmp.Or(f.Description, f.Title, f.name)), Multiple: f.Type == "array"}
		if !slices.Contains(form.Required, f.name) {
			q.Question += " (optional)"
			q.Optional = true
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
	return asked
}

// Fill makes the content of a form from the answers to its questions ({"ID":{"answers":["..."]}}). It returns
// *runtime.ReplyError for an invalid answer.
func (form Form) Fill(answers json.RawMessage) (map[string]json.RawMessage, error) {
	var given map[string]struct{ Answers []string }
	_ = json.Unmarshal(answers, &given) // invalid JSON has no answers
	content := map[string]json.RawMessage{}
	for _, f := range form.fields {
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

// value converts the answers to one question to the field's type.
func (f field) value(texts []string) (json.RawMessage, error) {
	if choices := f.choices(); choices != nil {
		for i, text := range texts {
			at := slices.IndexFunc(choices, func(c choice) bool { return text == c.Title })
			if at < 0 {
				at = slices.IndexFunc(choices, func(c choice) bool { return text == c.Const })
			}
			if at < 0 {
				return nil, fmt.Errorf("has no choice %q", text)
			}
			texts[i] = choices[at].Const
		}
	}
	if f.Type == "array" {
		return f.several(texts)
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
		return json.Marshal(number)
	}
	return json.Marshal(texts[0])
}

// several returns the answers to a question that allows more than one.
func (f field) several(texts []string) (json.RawMessage, error) {
	switch {
	case len(texts) < f.MinItems:
		return nil, fmt.Errorf("takes %d answers or more, not %d", f.MinItems, len(texts))
	case f.MaxItems > 0 && len(texts) > f.MaxItems:
		return nil, fmt.Errorf("takes %d answers at most, not %d", f.MaxItems, len(texts))
	}
	return json.Marshal(texts)
}
