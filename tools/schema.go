package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"harness/internal/jcs"
)

// Hash is the SHA-256 of a JSON value in its canonical form (RFC 8785), as "sha256:<hex>": the same whatever the order
// of members.
func Hash(value json.RawMessage) (string, error) {
	canonical, err := jcs.Transform(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// schema is a compiled JSON Schema of a tool.
type schema struct {
	compiled *jsonschema.Schema
	hash     string
}

func compileSchema(name string, raw json.RawMessage) (schema, error) {
	var shape struct {
		Type string `json:"type"`
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return schema{}, fmt.Errorf("the %s is no JSON: %w", name, err)
	}
	if json.Unmarshal(raw, &shape) != nil || shape.Type != "object" {
		return schema{}, fmt.Errorf(`the %s has to be a schema of "type": "object"`, name)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{}) // a schema has no business with files and other machines
	const url = "tool:schema"
	if err := compiler.AddResource(url, document); err != nil {
		return schema{}, fmt.Errorf("the %s is no JSON Schema: %w", name, err)
	}
	compiled, err := compiler.Compile(url)
	if err != nil {
		return schema{}, fmt.Errorf("the %s is no JSON Schema: %w", name, err)
	}
	hash, err := Hash(raw)
	if err != nil {
		return schema{}, fmt.Errorf("the %s: %w", name, err)
	}
	return schema{compiled: compiled, hash: hash}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a tool's schema refers to %s; it has to be complete in itself", url)
}

// check returns what is wrong with a value, in words like "/path must be string"; nothing when it is as the schema
// wants it.
func (s schema) check(value json.RawMessage) []string {
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []string{"/ must be JSON: " + err.Error()}
	}
	err = s.compiled.Validate(decoded)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []string{"/ " + err.Error()}
	}
	return issues(nil, invalid, message.NewPrinter(language.English))
}

// issues are the leaves of an error: what contains them only says that something below is wrong.
func issues(found []string, e *jsonschema.ValidationError, printer *message.Printer) []string {
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			found = issues(found, cause, printer)
		}
		return found
	}
	at := "/" + strings.Join(e.InstanceLocation, "/") + " "
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			found = append(found, at+fmt.Sprintf("must have required property '%s'", name))
		}
		return found
	case *kind.AdditionalProperties:
		return append(found, at+"must NOT have additional properties: "+strings.Join(k.Properties, ", "))
	case *kind.Type:
		return append(found, at+"must be "+strings.Join(k.Want, " or "))
	}
	return append(found, at+e.ErrorKind.LocalizedString(printer))
}
