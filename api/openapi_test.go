package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"harness/api"
)

// document is the served document, compiled to validate exchanges.
type document struct {
	*openapi3.T
	routes  []documentedRoute
	schemas *jsonschema.Compiler
}

type documentedRoute struct {
	method, path string
	pattern      *regexp.Regexp
	*openapi3.Operation
}

const documentURL = "https://harness.invalid/openapi.json"

func readDocument(t *testing.T) *document {
	t.Helper()
	got := setup(t).send(http.MethodGet, "/api/openapi.json", "", "")
	if got.Code != http.StatusOK || got.Header().Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("got the document with %d %s", got.Code, got.Header())
	}
	parsed, err := openapi3.NewLoader().LoadFromData(got.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	// TestEveryOperationHasAnExample validates the examples against their schemas.
	if err := parsed.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	raw, err := jsonschema.UnmarshalJSON(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	d := &document{T: parsed, schemas: jsonschema.NewCompiler()}
	d.schemas.DefaultDraft(jsonschema.Draft2020)
	d.schemas.AssertFormat()
	if err := d.schemas.AddResource(documentURL, raw); err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{\w+\}`)
	for path, item := range parsed.Paths.Map() {
		pattern := regexp.MustCompile("^" + parameter.ReplaceAllString(path, "[^/]+") + "$")
		for method, operation := range item.Operations() {
			d.routes = append(d.routes, documentedRoute{method, path, pattern, operation})
		}
	}
	return d
}

// find returns the operation of a request, nil if the document has none.
func (d *document) find(method, target string) *documentedRoute {
	path, _, _ := strings.Cut(target, "?")
	for i, r := range d.routes {
		if r.method == method && r.pattern.MatchString(path) {
			return &d.routes[i]
		}
	}
	return nil
}

// follows validates a body against the schema at a place in the document.
func (d *document) follows(body string, place ...string) error {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	pointer := documentURL + "#"
	for _, step := range place {
		pointer += "/" + escape.Replace(step)
	}
	schema, err := d.schemas.Compile(pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// checkReply validates a response. The document must have its status (the default covers server faults), and its body
// must match the schema.
func (d *document) checkReply(r *documentedRoute, status int, reply string) error {
	if strings.Contains(reply, `"statusCode":`) {
		return d.follows(reply, "components", "schemas", "RouterReply") // no route matches the request
	}
	response, key := r.Responses.Status(status), strconv.Itoa(status)
	if response == nil && status >= http.StatusInternalServerError {
		response, key = r.Responses.Default(), "default"
	}
	if response == nil {
		return fmt.Errorf("%s has no status %d", r.OperationID, status)
	}
	if response.Value.Content.Get("application/json") == nil {
		if !json.Valid([]byte(reply)) {
			return nil
		}
		return fmt.Errorf("%s: %d has no JSON", r.OperationID, status)
	}
	place := []string{"paths", r.path, strings.ToLower(r.method), "responses", key}
	if name, isShared := strings.CutPrefix(response.Ref, "#/components/responses/"); isShared {
		place = []string{"components", "responses", name}
	}
	if err := d.follows(reply, append(place, "content", "application/json", "schema")...); err != nil {
		return fmt.Errorf("%s: %d is not valid: %w", r.OperationID, status, err)
	}
	return nil
}

// TestDocumentListsTheRoutes: the documented routes are exactly the served ones.
func TestDocumentListsTheRoutes(t *testing.T) {
	t.Parallel()
	var documented, served []string
	for path, item := range readDocument(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	for _, operation := range api.Operations() {
		served = append(served, operation.Method+" "+operation.Path)
	}
	for _, operation := range served {
		if !slices.Contains(documented, operation) {
			t.Errorf("%s is served; describe it in openapi.yaml first", operation)
		}
	}
	for _, operation := range documented {
		if !slices.Contains(served, operation) {
			t.Errorf("%s is described in openapi.yaml and not served", operation)
		}
	}
}

// TestDocumentPage: the page is readable and loads no other resource.
func TestDocumentPage(t *testing.T) {
	t.Parallel()
	got := setup(t).send(http.MethodGet, "/api/docs", "", "")
	page := got.Body.String()
	if got.Code != http.StatusOK || !strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") ||
		!strings.Contains(got.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("got the page with %d %v", got.Code, got.Header())
	}
	for _, loads := range []string{"<script", "<link", "src=", "url(", "@import", "https://"} {
		if strings.Contains(page, loads) {
			t.Errorf("the page has %s", loads)
		}
	}
	d := readDocument(t)
	for _, r := range d.routes {
		if !strings.Contains(page, `id="`+r.OperationID+`"`) || r.Summary == "" ||
			!strings.Contains(page, "<i>"+strings.ReplaceAll(r.Summary, "'", "&#39;")+"</i>") {
			t.Errorf("the page does not mention %s", r.OperationID)
		}
	}
	for name := range d.Components.Schemas {
		if !strings.Contains(page, `id="schema-`+name+`"`) {
			t.Errorf("the page does not mention %s", name)
		}
	}
	for _, anchor := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+anchor[1]+`"`) {
			t.Errorf("a link does not resolve: #%s", anchor[1])
		}
	}
}

// recordings reads every recorded exchange: those of this package and those of the contract test.
func recordings(t *testing.T) []exchange {
	t.Helper()
	all := readExchanges(t)
	files, err := filepath.Glob("../tests/contract/testdata/*.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		packed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(unpacked)
		for {
			line, err := reader.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			var r struct {
				K, N, M, P, RB string
				B              *string
				S              int
			}
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			if r.K == "http" && strings.HasPrefix(r.P, "/api/") {
				all = append(all, exchange{Topic: strings.TrimSuffix(filepath.Base(name), ".jsonl.gz"), Name: r.N, Method: r.M,
					Path: r.P, Body: r.B, Status: r.S, Reply: r.RB})
			}
		}
	}
	return all
}

// TestRecordedRepliesFollowTheDocument: codex-manager's responses match the document, so clients of codex-manager can
// be written from it.
func TestRecordedRepliesFollowTheDocument(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	checked, operations := 0, map[string]bool{}
	for _, e := range recordings(t) {
		operation := d.find(e.Method, e.Path)
		if operation == nil {
			continue // see TestDocumentListsTheRoutes
		}
		checked++
		operations[operation.OperationID] = true
		if err := d.checkReply(operation, e.Status, e.Reply); err != nil {
			t.Errorf("%s / %s: %s %s -> %d %.300s\n%.600v", e.Topic, e.Name, e.Method, e.Path, e.Status, e.Reply, err)
		}
	}
	t.Logf("%d replies of %d operations", checked, len(operations))
	if checked < 400 || len(operations) < 50 {
		t.Errorf("only %d replies of %d operations; the recordings are cut short", checked, len(operations))
	}
}

// TestRepliesFollowTheDocument: this server's responses to the same requests match the document too.
func TestRepliesFollowTheDocument(t *testing.T) {
	t.Parallel()
	d, b := readDocument(t), setup(t, func(o *parts) {
		o.Controls = newFakeControls("untrusted", "restricted", "read-only")
	})
	checked := 0
	for _, e := range readExchanges(t) {
		operation := d.find(e.Method, e.Path)
		if operation == nil || left(e) && !strings.HasPrefix(e.Topic, "controls") {
			continue
		}
		b.prime(t, e)
		body := ""
		if e.Body != nil {
			body = *e.Body
		}
		got := b.send(e.Method, e.Path, e.Type, body)
		checked++
		if err := d.checkReply(operation, got.Code, got.Body.String()); err != nil {
			t.Errorf("%s / %s: %s %s %s -> %d %.300s\n%.600v", e.Topic, e.Name, e.Method, e.Path, body, got.Code, got.Body, err)
		}
	}
	if checked < 300 {
		t.Errorf("only %d replies", checked)
	}
}

// TestRecordedRequestsFollowTheDocument: the document allows the bodies that codex-manager accepted, and none that it
// refused.
func TestRecordedRequestsFollowTheDocument(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	allowed, refused := 0, 0
	for _, e := range recordings(t) {
		operation := d.find(e.Method, e.Path)
		if operation == nil || e.Body == nil || operation.RequestBody == nil || !json.Valid([]byte(*e.Body)) {
			continue // a text/plain body is read as one string, which some operations ignore
		}
		err := d.follows(*e.Body, "paths", operation.path, strings.ToLower(operation.method), "requestBody", "content",
			"application/json", "schema")
		switch {
		case e.Status < http.StatusBadRequest:
			allowed++
			if err != nil {
				t.Errorf("%s / %s: %s %s %.300s\n%.600v", e.Topic, e.Name, e.Method, e.Path, *e.Body, err)
			}
		case strings.Contains(e.Reply, "request validation failed"):
			refused++
			if err == nil {
				t.Errorf("%s / %s: %s %s: the document allows %.300s", e.Topic, e.Name, e.Method, e.Path, *e.Body)
			}
		}
	}
	if allowed < 80 || refused < 100 {
		t.Errorf("only %d requests allowed and %d refused", allowed, refused)
	}
}

// TestEveryOperationHasAnExample: each JSON request and success body has an example, and the examples match their
// schemas.
func TestEveryOperationHasAnExample(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	check := func(r documentedRoute, media *openapi3.MediaType, place ...string) {
		if media == nil {
			return
		}
		where := r.OperationID + " " + strings.Join(place, " ")
		if media.Example == nil {
			t.Errorf("%s has no example", where)
			return
		}
		text, err := json.Marshal(media.Example)
		if err != nil {
			t.Fatal(err)
		}
		place = append(append([]string{"paths", r.path, strings.ToLower(r.method)}, place...), "content", "application/json", "schema")
		if err := d.follows(string(text), place...); err != nil {
			t.Errorf("the example of %s is not valid: %v", where, err)
		}
	}
	for _, r := range d.routes {
		if r.RequestBody != nil {
			check(r, jsonOf(r.RequestBody.Value.Content), "requestBody")
		}
		for status, response := range r.Responses.Map() {
			if strings.HasPrefix(status, "2") && response.Ref == "" && status != "206" {
				check(r, jsonOf(response.Value.Content), "responses", status)
			}
		}
	}
}

// jsonOf returns the JSON form of a body, nil if it has only other types.
func jsonOf(content openapi3.Content) *openapi3.MediaType { return content["application/json"] }

// An operation on a session that another node may own documents the refusal for a session pinned to a dead node.
func TestOwnedOperationsMayBePinned(t *testing.T) {
	t.Parallel()
	owned := 0
	for _, r := range readDocument(t).routes {
		if r.Responses.Value("421") == nil {
			continue
		}
		owned++
		conflict := r.Responses.Value("409")
		if conflict == nil {
			t.Errorf("%s %s has no 409", r.method, r.path)
			continue
		}
		text, err := json.Marshal(conflict.Value.Content)
		if err != nil || !strings.Contains(string(text), "schemas/Pinned") {
			t.Errorf("%s %s: the 409 does not allow a pinned session: %s %v", r.method, r.path, text, err)
		}
	}
	if owned < 15 {
		t.Errorf("%d operations have an owner", owned)
	}
}
