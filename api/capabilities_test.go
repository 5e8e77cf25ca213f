package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// TestCapabilities: the runtime's own list of methods gives the same result as probing each method, but calls none.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/capabilities.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Methods, Features json.RawMessage
		Refusal           string
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	// Unlike in codex-manager, rollback works on a runtime that can only revert.
	features := strings.Replace(string(recorded.Features), `"threadRollback": false`, `"threadRollback": true`, 1)
	if features == string(recorded.Features) {
		t.Fatal("the recording lacks the expected fields")
	}
	b := setup(t)
	b.health.status.Generation = "g1"
	b.runtime.fail = &runtime.Error{Runtime: "codex", Method: "harness/probe", Code: -32600,
		Message: strings.TrimPrefix(recorded.Refusal, "codex rpc error -32600: ")}
	get := func(target string) (methods, features, whole string) {
		t.Helper()
		got := b.send(http.MethodGet, target, "", "")
		var body struct {
			Methods, Features json.RawMessage
		}
		if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != http.StatusOK {
			t.Fatalf("%v: %d %s", err, got.Code, got.Body)
		}
		return string(body.Methods), string(body.Features), got.Body.String()
	}
	compact := func(text string) string { return strings.ReplaceAll(strings.ReplaceAll(text, ": ", ":"), ", ", ",") }
	gotMethods, gotFeatures, whole := get("/api/capabilities")
	if gotMethods != compact(string(recorded.Methods)) || gotFeatures != compact(features) {
		t.Errorf("got  %s %s\nwant %s %s", gotMethods, gotFeatures, compact(string(recorded.Methods)), compact(features))
	}
	if !strings.HasPrefix(whole,
		`{"status":"ok","runtime":{"initialized":true,"capabilitiesLastUpdatedAt":"2026-11-21T01:28:12.000Z"},"methods":{`) ||
		!strings.Contains(whole, `"details":{"thread/fork":{"status":"available","reason":null},`) {
		t.Errorf("got %s", whole)
	}

	get("/api/capabilities?refresh=false")
	if len(b.runtime.calls) != 1 {
		t.Errorf("asked again without a reason: %q", b.runtime.calls)
	}
	b.health.status.Generation = "g2" // a new process may have another version
	get("/api/capabilities")
	get("/api/capabilities?refresh=true")
	if len(b.runtime.calls) != 3 {
		t.Errorf("got calls %q", b.runtime.calls)
	}

	b.health.status.State = runtime.StateUnavailable
	b.runtime.fail = fmt.Errorf("%w: codex is gone", runtime.ErrUnavailable)
	if methods, _, _ := get("/api/capabilities"); !strings.Contains(methods, `"thread/fork":"available"`) {
		t.Errorf("the known state was lost: %s", methods)
	}
	methods, features, whole := get("/api/capabilities?refresh=true")
	if strings.Contains(methods, "available") || !strings.Contains(features, `"threadFork":false`) ||
		!strings.Contains(features, `"planUpdates":true`) ||
		!strings.Contains(whole, `"initialized":false`) ||
		!strings.Contains(whole, `"reason":"runtime unavailable: codex is gone"`) {
		t.Errorf("got %s", whole)
	}
}
