// Package openapi reads an OpenAPI document written in YAML and renders it as JSON for programs and as a page for
// people.
//
// It owns the parsing and the rendering, not the content of the document. It must never know a route or a handler.
package openapi

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"harness/internal/lib/javascript"
)

// Document is a parsed OpenAPI document.
type Document struct {
	root *yaml.Node
	json []byte
	page []byte
}

// New parses a document and renders both forms. An error names the problem in the text.
func New(text []byte) (*Document, error) {
	root, err := read(text)
	if err != nil {
		return nil, err
	}
	d := &Document{root: root}
	if d.json, err = encode(root); err != nil {
		return nil, err
	}
	d.page, err = d.render()
	return d, err
}

// JSON converts any document, such as AsyncAPI, to compact JSON with the members in text order.
func JSON(text []byte) ([]byte, error) {
	root, err := read(text)
	if err != nil {
		return nil, err
	}
	return encode(root)
}

func read(text []byte) (*yaml.Node, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("the document is not YAML: %w", err)
	}
	if len(file.Content) != 1 {
		return nil, fmt.Errorf("the document is empty")
	}
	return file.Content[0], nil
}

func encode(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	err := writeJSON(&out, root)
	return out.Bytes(), err
}

// JSON returns the document as compact JSON, with the members in text order. Do not modify it.
func (d *Document) JSON() []byte { return d.json }

// Page returns the document as one self-contained HTML page. Do not modify it.
func (d *Document) Page() []byte { return d.page }

// get returns a member of a mapping, nil if there is none.
func get(node *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		var found *yaml.Node
		each(node, func(name string, value *yaml.Node) {
			if name == key {
				found = value
			}
		})
		node = found
	}
	return node
}

// text returns the value of a scalar, "" if there is none.
func text(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	return node.Value
}

func each(node *yaml.Node, visit func(key string, value *yaml.Node)) {
	if node == nil || node.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		visit(node.Content[i].Value, node.Content[i+1])
	}
}

func items(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}

// writeJSON preserves the order of members, unlike decoding into maps.
func writeJSON(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.MappingNode:
		out.WriteByte('{')
		for i := 0; i+1 < len(node.Content); i += 2 {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeValue(out, node.Content[i].Value); err != nil {
				return err
			}
			out.WriteByte(':')
			if err := writeJSON(out, node.Content[i+1]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeJSON(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
	case yaml.ScalarNode:
		var value any
		if err := node.Decode(&value); err != nil {
			return fmt.Errorf("line %d of the document: %w", node.Line, err)
		}
		return writeValue(out, value)
	default:
		return fmt.Errorf("line %d of the document: anchors and aliases are not allowed, for readability",
			node.Line)
	}
	return nil
}

func writeValue(out *bytes.Buffer, value any) error {
	text, err := javascript.Encode(value)
	if err != nil {
		return fmt.Errorf("a value of the document is not JSON: %w", err)
	}
	out.Write(text)
	return nil
}
