package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"harness/api"
	"harness/tests/contract"
)

// frames is the served description of the stream, compiled to validate frames.
type frames struct {
	root    map[string]any
	schemas *jsonschema.Compiler
	// messages are keyed by name.
	messages map[string]*jsonschema.Schema
}

// oursAlone are messages that no recording contains. The test validates their examples instead.
const oursAlone = "subscribeTexts subscribed resumed gap ahead sessionRolledBack sessionBackgroundUpdated serverRequest"

const framesURL = "https://harness.invalid/asyncapi.json"

func readFrames(t *testing.T) *frames {
	t.Helper()
	got := setup(t).send(http.MethodGet, "/api/asyncapi.json", "", "")
	if got.Code != http.StatusOK || got.Header().Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("got the document with %d %s", got.Code, got.Header())
	}
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	f := &frames{root: raw.(map[string]any), schemas: readDocument(t).schemas}
	if err := f.schemas.AddResource(framesURL, raw); err != nil {
		t.Fatal(err)
	}
	f.messages = map[string]*jsonschema.Schema{}
	for name := range at(f.root, "components", "messages").(map[string]any) {
		if f.messages[name], err = f.schemas.Compile(framesURL + "#/components/messages/" + name + "/payload"); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// of returns the messages of an operation.
func (f *frames) of(t *testing.T, operation string) []string {
	t.Helper()
	var names []string
	channel := at(f.root, "channels", "stream", "messages").(map[string]any)
	for _, ref := range at(f.root, "operations", operation, "messages").([]any) {
		name, listed := strings.CutPrefix(at(ref, "$ref").(string), "#/channels/stream/messages/")
		if !listed || at(channel, name, "$ref") != "#/components/messages/"+name || at(f.root, "components", "messages", name) == nil {
			t.Errorf("%s refers to %v, which the document does not describe", operation, ref)
			continue
		}
		names = append(names, name)
	}
	return names
}

// matches returns the messages that a text is valid for.
func (f *frames) matches(text string, names []string) (matching []string, why error) {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := f.messages[name].Validate(value); err != nil {
			why = err
			continue
		}
		matching = append(matching, name)
	}
	return matching, why
}

// at returns the value at a path in decoded JSON.
func at(value any, path ...string) any {
	for _, key := range path {
		members, _ := value.(map[string]any)
		value = members[key]
	}
	return value
}

// TestRecordedFramesFollowTheDescription: every frame that codex-manager sent, and every frame that this server
// derives, matches exactly one message of the description.
func TestRecordedFramesFollowTheDescription(t *testing.T) {
	t.Parallel()
	f := readFrames(t)
	sent, seen := append(f.of(t, "answer"), f.of(t, "event")...), map[string]int{}
	// The test validates the first frame of a type against every message, and the others only against the matching one.
	known := map[string][]string{}
	hold := func(where, text string) {
		var frame struct{ Type string }
		if err := json.Unmarshal([]byte(text), &frame); err != nil {
			t.Fatal(err)
		}
		candidates := known[frame.Type]
		if candidates == nil {
			candidates = sent
		}
		matching, why := f.matches(text, candidates)
		if len(matching) != 1 {
			t.Errorf("%s: %.400s is %v (%.300v)", where, text, matching, why)
			return
		}
		known[frame.Type] = matching
		seen[matching[0]]++
	}
	commands := f.of(t, "command")
	for _, topic := range contract.Topics() {
		records, err := contract.Load(topic.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Data == "" || r.Control != "" {
				continue
			}
			switch r.Kind {
			case contract.KindFrame:
				hold(topic.Name, r.Data)
			case contract.KindSend:
				matching, _ := f.matches(r.Data, commands)
				if len(matching) > 1 {
					t.Errorf("%s: %s is %v", topic.Name, r.Data, matching)
				}
				for _, name := range matching {
					seen[name]++
				}
			}
		}
	}
	golden, err := os.ReadFile("../stream/testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(golden) {
		var row struct{ Frames []string }
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for _, text := range row.Frames {
			hold("golden.jsonl", text)
		}
	}
	for _, name := range append(commands, sent...) {
		if seen[name] == 0 && !strings.Contains(oursAlone, name) {
			t.Errorf("no recorded frame is a %s", name)
		}
	}
}

// TestExamplesOfFramesFollowTheirSchemas: each message's examples are valid.
func TestExamplesOfFramesFollowTheirSchemas(t *testing.T) {
	t.Parallel()
	f := readFrames(t)
	for name, message := range at(f.root, "components", "messages").(map[string]any) {
		examples, _ := at(message, "examples").([]any)
		if len(examples) == 0 && strings.Contains(oursAlone, name) {
			t.Errorf("%s has no example", name)
		}
		for _, example := range examples {
			text, err := json.Marshal(at(example, "payload"))
			if err != nil {
				t.Fatal(err)
			}
			if matching, why := f.matches(string(text), []string{name}); len(matching) != 1 {
				t.Errorf("the example of %s is not valid: %v", name, why)
			}
		}
	}
}

// TestStreamDescriptionIsComplete: references resolve, the server has the route, and both documents have the same
// parameters.
func TestStreamDescriptionIsComplete(t *testing.T) {
	t.Parallel()
	f, d := readFrames(t), readDocument(t)
	text, err := json.Marshal(f.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		place, here := strings.CutPrefix(ref[1], "#/")
		if path, shared := strings.CutPrefix(ref[1], "openapi.json#/components/schemas/"); shared {
			if d.Components.Schemas[path] == nil {
				t.Errorf("%s does not resolve", ref[1])
			}
		} else if !here || at(f.root, strings.Split(place, "/")...) == nil {
			t.Errorf("%s does not resolve", ref[1])
		}
	}
	address := at(f.root, "channels", "stream", "address")
	operation := d.find(http.MethodGet, address.(string))
	if operation == nil || at(f.root, "asyncapi") != "3.0.0" {
		t.Fatalf("the stream is at %v", address)
	}
	query := at(f.root, "channels", "stream", "bindings", "ws", "query", "properties").(map[string]any)
	for _, parameter := range operation.Parameters {
		if at(query[parameter.Value.Name], "description") != parameter.Value.Description {
			t.Errorf("openapi.yaml describes %s differently: %s", parameter.Value.Name, parameter.Value.Description)
		}
	}
	if len(query) != len(operation.Parameters) {
		t.Errorf("%d parameters, %d in openapi.yaml", len(query), len(operation.Parameters))
	}
	served := false
	for _, one := range api.Operations() {
		served = served || one.Path == address
	}
	if !served {
		t.Errorf("%v is not served", address)
	}
}
