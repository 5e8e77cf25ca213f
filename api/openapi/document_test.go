package openapi

import (
	"strings"
	"testing"
)

const small = `
openapi: 3.1.0
info: {title: "A <b>", version: '1', description: "Say ` + "`<x>`" + `.\nTwice."}
tags: [{name: T, description: d}]
paths:
  /b/{id}:
    post:
      operationId: postB
      tags: [T]
      summary: s & t
      parameters: [{$ref: '#/components/parameters/id'}]
      requestBody: {content: {application/json: {schema: {type: object, required: [z], properties: {z: {type: [integer, 'null'], minimum: 1}, a: {type: array, items: {$ref: '#/components/schemas/Leaf'}}}}}}}
      responses: {'200': {description: Fine.}, default: {description: Not., content: {text/html: {schema: {type: string}}}}}
  /a:
    get: {operationId: getA, tags: [T], summary: s, responses: {}}
components:
  parameters: {id: {name: id, in: path, required: true, schema: {type: string, maxLength: 3}, description: Which.}}
  schemas: {Leaf: {oneOf: [{const: x}, {enum: [y, 1, true, null]}]}}
`

func TestDocument(t *testing.T) {
	t.Parallel()
	d, err := New([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.JSON()); !strings.HasPrefix(got,
		`{"openapi":"3.1.0","info":{"title":"A <b>","version":"1","description":"Say `+"`<x>`"+`.\nTwice."},"tags":`) ||
		!strings.HasSuffix(got, `"schemas":{"Leaf":{"oneOf":[{"const":"x"},{"enum":["y",1,true,null]}]}}}}`) ||
		strings.Index(got, `"/b/{id}"`) > strings.Index(got, `"/a"`) {
		t.Errorf("JSON %s", got)
	}
	page := string(d.Page())
	for _, want := range []string{
		"<title>A &lt;b&gt; REST API</title>", "<p>Say <code>&lt;x&gt;</code>.</p><p>Twice.</p>", `<details id="postB">`,
		"<i>s &amp; t</i>", "Body (may be left out)", `<code>z</code><b title="required">*</b>`, "integer or null, from 1",
		`list of <a href="#schema-Leaf">Leaf</a>`, "string, at most 3 characters", "<p>Which. In the path.</p>", "text/html",
		"&#34;x&#34; or y | 1 | true | null",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "<x>") {
		t.Error("a text became markup")
	}
}

func TestBadDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: [": "not YAML", "": "empty", "a: &x 1\nb: *x": "line 2", "a: .nan": "not JSON",
	} {
		if _, err := New([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
