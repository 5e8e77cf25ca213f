package openapi

import (
	"bytes"
	_ "embed" // page.html
	"fmt"
	"html/template"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed page.html
var pageTemplate string

// The page's content, extracted from the document.
type (
	pageView struct {
		Title, Version, Description string
		Groups                      []*groupView
		Schemas                     []schemaView
	}
	groupView struct {
		Name, Description string
		Operations        []operationView
	}
	operationView struct {
		ID, Method, Path, Summary, Description string
		Parameters                             []row
		BodyRequired                           bool
		Body                                   []row
		Responses                              []responseView
	}
	responseView struct {
		Status, Description string
		Rows                []row
	}
	schemaView struct {
		Name string
		Rows []row
	}
	// row is one line of an outline: a member of an object, or the type of a value when Name is "".
	row struct {
		Depth    int
		Name     string
		Required bool
		Type     []word
		Note     string
	}
	// word is a part of a type; a Ref is the name of a schema to link to.
	word struct{ Text, Ref string }
)

func (d *Document) render() ([]byte, error) {
	page, err := template.New("page").Funcs(template.FuncMap{"prose": prose, "lower": strings.ToLower}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the template of the OpenAPI page: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, d.view()); err != nil {
		return nil, fmt.Errorf("render the OpenAPI page: %w", err)
	}
	return out.Bytes(), nil
}

func (d *Document) view() pageView {
	info := get(d.root, "info")
	view := pageView{Title: text(get(info, "title")), Version: text(get(info, "version")),
		Description: text(get(info, "description"))}
	groups := map[string]*groupView{}
	for _, tag := range items(get(d.root, "tags")) {
		group := &groupView{Name: text(get(tag, "name")), Description: text(get(tag, "description"))}
		groups[group.Name] = group
		view.Groups = append(view.Groups, group)
	}
	each(get(d.root, "paths"), func(path string, item *yaml.Node) {
		each(item, func(method string, operation *yaml.Node) {
			for _, tag := range items(get(operation, "tags")) {
				if group := groups[tag.Value]; group != nil {
					group.Operations = append(group.Operations, d.operation(method, path, operation))
				}
			}
		})
	})
	each(get(d.root, "components", "schemas"), func(name string, schema *yaml.Node) {
		view.Schemas = append(view.Schemas, schemaView{name, outline(schema)})
	})
	return view
}

func (d *Document) operation(method, path string, node *yaml.Node) operationView {
	view := operationView{
		ID: text(get(node, "operationId")), Method: strings.ToUpper(method), Path: path,
		Summary: text(get(node, "summary")), Description: text(get(node, "description")),
	}
	for _, parameter := range items(get(node, "parameters")) {
		parameter = d.resolve(parameter)
		note := strings.TrimSpace(text(get(parameter, "description")) + " In the " + text(get(parameter, "in")) + ".")
		view.Parameters = append(view.Parameters, row{
			Name: text(get(parameter, "name")), Required: text(get(parameter, "required")) == "true",
			Type: typeOf(get(parameter, "schema")), Note: note})
	}
	if body := get(node, "requestBody"); body != nil {
		view.BodyRequired = text(get(body, "required")) == "true"
		view.Body = content(body)
	}
	each(get(node, "responses"), func(status string, response *yaml.Node) {
		response = d.resolve(response)
		view.Responses = append(view.Responses, responseView{status, text(get(response, "description")), content(response)})
	})
	return view
}

// resolve follows a reference within the document.
func (d *Document) resolve(node *yaml.Node) *yaml.Node {
	if path, isRef := strings.CutPrefix(text(get(node, "$ref")), "#/"); isRef {
		return get(d.root, strings.Split(path, "/")...)
	}
	return node
}

// content outlines the body of a request or response of any media type.
func content(node *yaml.Node) (rows []row) {
	each(get(node, "content"), func(mediaType string, media *yaml.Node) {
		outlined := outline(get(media, "schema"))
		if mediaType != "application/json" {
			outlined = []row{{Type: []word{{Text: mediaType}}}}
		}
		rows = append(rows, outlined...)
	})
	return rows
}

// outline lists the members of a schema, nested ones indented; a type other than object is one row.
func outline(schema *yaml.Node) []row {
	if members := outlineMembers(schema, 0); len(members) > 0 {
		return members
	}
	return []row{{Type: typeOf(schema), Note: text(get(schema, "description"))}}
}

func outlineMembers(schema *yaml.Node, depth int) (rows []row) {
	for _, part := range items(get(schema, "allOf")) {
		if ref := get(part, "$ref"); ref != nil {
			rows = append(rows, row{Depth: depth, Name: "…", Type: typeOf(part), Note: "and its members"})
			continue
		}
		rows = append(rows, outlineMembers(part, depth)...)
	}
	required := map[string]bool{}
	for _, name := range items(get(schema, "required")) {
		required[name.Value] = true
	}
	each(get(schema, "properties"), func(name string, property *yaml.Node) {
		rows = append(rows, row{depth, name, required[name], typeOf(property), text(get(property, "description"))})
		if inner := get(property, "items"); inner != nil {
			property = inner
		}
		rows = append(rows, outlineMembers(property, depth+1)...)
	})
	return rows
}

// notBlank is the pattern of strings that must not be blank.
const notBlank = `\S`

// typeOf summarizes the allowed values in a few words.
func typeOf(schema *yaml.Node) []word {
	if ref := text(get(schema, "$ref")); ref != "" {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		return []word{{Text: name, Ref: name}}
	}
	if value := get(schema, "const"); value != nil {
		return []word{{Text: `"` + value.Value + `"`}}
	}
	for _, choice := range []struct{ key, between string }{{"enum", " | "}, {"oneOf", " or "}, {"anyOf", " or "},
		{"allOf", " with "}} {
		if options := items(get(schema, choice.key)); len(options) > 0 {
			return choices(options, choice.between)
		}
	}
	kind := get(schema, "type")
	names := []string{text(kind)}
	for _, one := range items(kind) {
		names = append(names, one.Value)
	}
	name := strings.TrimPrefix(strings.Join(names, " or "), " or ")
	switch {
	case text(kind) == "array":
		return append([]word{{Text: "list of "}}, typeOf(get(schema, "items"))...)
	case name == "":
		name = "any value"
	}
	if text(get(schema, "pattern")) == notBlank {
		name += ", not blank"
	}
	for _, limit := range []struct{ key, words string }{
		{"minLength", "at least"}, {"maxLength", "at most"}, {"minimum", "from"}, {"maximum", "to"},
		{"exclusiveMinimum", "above"},
	} {
		if value := text(get(schema, limit.key)); value != "" {
			name += ", " + limit.words + " " + value
			if strings.HasSuffix(limit.key, "Length") {
				name += " characters"
			}
		}
	}
	return []word{{Text: name}}
}

func choices(options []*yaml.Node, between string) (words []word) {
	for i, option := range options {
		if i > 0 {
			words = append(words, word{Text: between})
		}
		if option.Kind == yaml.ScalarNode {
			words = append(words, word{Text: option.Value})
			continue
		}
		words = append(words, typeOf(option)...)
	}
	return words
}

// prose escapes a description, formats text between backticks as code, and splits lines into paragraphs.
func prose(description string) template.HTML {
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(description), "\n") {
		out.WriteString("<p>")
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				out.WriteString("<code>" + template.HTMLEscapeString(part) + "</code>")
				continue
			}
			out.WriteString(template.HTMLEscapeString(part))
		}
		out.WriteString("</p>")
	}
	return template.HTML(out.String()) // every part was escaped above
}
