package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"harness/internal/lib/jcs"
)

// Hash returns the SHA-256 of a JSON value in its canonical form (RFC 8785), as "sha256:<hex>". The order of members
// does not matter.
func Hash(value json.RawMessage) (string, error) {
	canonical, err := jcs.Transform(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// schema is a resolved JSON Schema of a tool.
type schema struct {
	resolved *jsonschema.Resolved
	hash     string
}

func compileSchema(name string, raw json.RawMessage) (schema, error) {
	var document jsonschema.Schema
	if err := json.Unmarshal(raw, &document); err != nil {
		return schema{}, fmt.Errorf("the %s is no JSON Schema: %w", name, err)
	}
	if document.Type != "object" {
		return schema{}, fmt.Errorf(`the %s has to be a schema of "type": "object"`, name)
	}
	// Without a loader: a schema must not access files or other machines.
	resolved, err := document.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return schema{}, fmt.Errorf("the %s is no JSON Schema that is complete in itself: %w", name, err)
	}
	hash, err := Hash(raw)
	if err != nil {
		return schema{}, fmt.Errorf("the %s: %w", name, err)
	}
	return schema{resolved: resolved, hash: hash}, nil
}

// maxIssue bounds the description of an invalid value, in bytes: the library repeats the value.
const maxIssue = 500

// check returns the first problem of a value, in words like "/path must be string"; "" if it matches the schema.
func (s schema) check(value json.RawMessage) string {
	var decoded any
	if err := json.Unmarshal(value, &decoded); err != nil {
		return "/ must be JSON: " + err.Error()
	}
	err := s.resolved.Validate(decoded)
	if err == nil {
		return ""
	}
	said := issue(err.Error())
	if len(said) > maxIssue {
		said = said[:maxIssue] + "..."
	}
	return strings.ToValidUTF8(said, "")
}

// issue rewrites the library's error, which is "validating root: validating /properties/path: type: 1 has type ...", in
// the form that clients of such daemons expect. It returns an unknown error unchanged.
func issue(said string) string {
	place := "/"
	for strings.HasPrefix(said, "validating ") {
		where, rest, _ := strings.Cut(strings.TrimPrefix(said, "validating "), ": ")
		if strings.HasPrefix(where, "/") {
			place = strings.ReplaceAll(where, "/properties/", "/")
		}
		said = rest
	}
	quoted := func(list string) string { return strings.Trim(list, `[]"`) }
	if names, found := strings.CutPrefix(said, "required: missing properties: "); found {
		return place + " must have required property '" + strings.ReplaceAll(quoted(names), `" "`, "', '") + "'"
	}
	if names, found := strings.CutPrefix(said, "unexpected additional properties "); found {
		return place + " must NOT have additional properties: " + strings.ReplaceAll(quoted(names), `" "`, ", ")
	}
	if _, want, found := strings.Cut(said, ", want "); found && strings.HasPrefix(said, "type: ") {
		return place + " must be " + strings.Trim(strings.TrimPrefix(want, "one of "), `"`)
	}
	return place + " " + said
}
