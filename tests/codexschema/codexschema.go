// Package codexschema checks frames against the JSON schemas of codex's app-server protocol.
//
// It owns the schemas: the pinned codex binaries generate them, and the cache keeps them by version. It must never
// know which runtime made a frame.
package codexschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"harness/tests/agenttest"
	"harness/tests/codextest"
)

// The documents of a version, by the kind of frame.
const (
	notifications = "ServerNotification.json"
	requests      = "ServerRequest.json"
)

// Versions returns the codex versions whose schemas count: those whose TUI the server supports.
func Versions() []codextest.Version {
	return []codextest.Version{codextest.Default, codextest.Recorded}
}

// Checker checks frames against the schemas of one version.
type Checker struct {
	version string

	mu       sync.Mutex // of compiler
	compiler *jsonschema.Compiler
	// places has the place of each method in its document, by kind.
	places map[string]map[string]int
}

// shared are the checkers of this process: reading a schema takes a second.
var shared sync.Map //nolint:gochecknoglobals // of codextest.Version to *Checker

// Of returns the checker of a version.
func Of(t testing.TB, version codextest.Version) *Checker {
	t.Helper()
	if known, is := shared.Load(version); is {
		return known.(*Checker)
	}
	c := &Checker{version: codextest.Number(t, version), compiler: jsonschema.NewCompiler(),
		places: map[string]map[string]int{}}
	folder := generated(t, version)
	for _, name := range []string{notifications, requests} {
		if err := c.add(folder, name); err != nil {
			t.Fatalf("read the schema of codex %s: %v", c.version, err)
		}
	}
	shared.Store(version, c)
	return c
}

func (c *Checker) add(folder, name string) error {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return err
	}
	if err := c.compiler.AddResource(name, document); err != nil {
		return err
	}
	c.places[name] = map[string]int{}
	root, _ := document.(map[string]any)
	frames, _ := root["oneOf"].([]any)
	for place, frame := range frames {
		if method := methodOf(frame); method != "" {
			c.places[name][method] = place
		}
	}
	if len(c.places[name]) == 0 {
		return errors.New(name + " has no frames")
	}
	return nil
}

// methodOf returns the method of a frame's schema.
func methodOf(schema any) string {
	for _, name := range []string{"properties", "method"} {
		object, _ := schema.(map[string]any)
		schema = object[name]
	}
	object, _ := schema.(map[string]any)
	if methods, _ := object["enum"].([]any); len(methods) == 1 {
		method, _ := methods[0].(string)
		return method
	}
	return ""
}

// Frame checks a notification, or a request with its id. An unknown method is an error.
func (c *Checker) Frame(frame json.RawMessage) error {
	var head struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(frame, &head); err != nil {
		return err
	}
	document := notifications
	if head.ID != nil {
		document = requests
	}
	place, known := c.places[document][head.Method]
	if !known {
		return fmt.Errorf("%s of codex %s has no %s", document, c.version, head.Method)
	}
	return c.check(document+"#/oneOf/"+strconv.Itoa(place), frame)
}

// Item checks an item of a turn.
func (c *Checker) Item(item json.RawMessage) error {
	return c.check(notifications+"#/definitions/ThreadItem", item)
}

func (c *Checker) check(place string, value json.RawMessage) error {
	c.mu.Lock()
	schema, err := c.compiler.Compile(place)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	decoded, err := jsonschema.UnmarshalJSON(strings.NewReader(string(value)))
	if err == nil {
		err = schema.Validate(decoded)
	}
	if err != nil {
		return fmt.Errorf("codex %s: %w", c.version, err)
	}
	return nil
}

// generated returns the folder with the schemas of a version. It generates them on first use.
func generated(t testing.TB, version codextest.Version) string {
	t.Helper()
	binary := codextest.Binary(t, version)
	folder := filepath.Join(agenttest.Cache(t), "codex-schema", codextest.Number(t, version))
	if _, err := os.Stat(filepath.Join(folder, requests)); err == nil {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil { //nolint:gosec // as the rest of the cache
		t.Fatal(err)
	}
	//nolint:usetesting // it moves into the cache, on the same disk
	made, err := os.MkdirTemp(filepath.Dir(folder), "new-")
	if err != nil {
		t.Fatal(err)
	}
	generate := exec.CommandContext(t.Context(), binary, "app-server", "generate-json-schema", "--out", made)
	generate.Env = append(os.Environ(), "CODEX_HOME="+t.TempDir())
	if said, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("generate the schema of codex %s: %v: %s", codextest.Number(t, version), err, said)
	}
	if os.Rename(made, folder) != nil { // another test process was faster
		_ = os.RemoveAll(made)
	}
	return folder
}
