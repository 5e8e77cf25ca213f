package schema

import (
	"bytes"
	"strconv"

	"harness/internal/lib/javascript"
)

// Issue is one reason for refusing a value, in the format of a zod 4 issue object. The code determines its members
// and their order.
type Issue struct {
	members []issueMember
	path    []any
	message string
}

type issueMember struct {
	name  string
	value any
}

// Code is zod's code, for example "invalid_type".
func (i Issue) Code() string {
	for _, member := range i.members {
		if member.name == "code" {
			text, _ := member.value.(string)
			return text
		}
	}
	return ""
}

// Path leads to the refused value: names (string) and indexes (int).
func (i Issue) Path() []any { return i.path }

// Message describes the problem in zod's words.
func (i Issue) Message() string { return i.message }

// MarshalJSON implements json.Marshaler: the code's own members first, then path and message.
func (i Issue) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	write := func(name string, value any) error {
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Quote(name))
		out.WriteByte(':')
		text, err := javascript.Encode(value)
		out.Write(text)
		return err
	}
	for _, member := range i.members {
		if err := write(member.name, member.value); err != nil {
			return nil, err
		}
	}
	path := i.path
	if path == nil {
		path = []any{}
	}
	if err := write("path", path); err != nil {
		return nil, err
	}
	if err := write("message", i.message); err != nil {
		return nil, err
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Custom returns an issue that no schema can find, for example one from the store. path leads to the refused value.
func Custom(message string, path ...any) Issue {
	return Issue{members: []issueMember{{"code", "custom"}}, path: path, message: message}
}
