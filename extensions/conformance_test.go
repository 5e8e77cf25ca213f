package extensions_test

import (
	"strings"
	"testing"

	"harness/extensions"
)

// An extension is portable if it loads and answers the same under both profiles; otherwise the report says why not.
func TestConformance(t *testing.T) {
	t.Parallel()
	everything := `,"capabilities":{"events":["*"],"actions":["*"]}`
	enqueue := `@enqueue {"type":"suggest_request","projectId":"p","payload":{}}`
	for _, c := range []struct {
		name, manifest, script string
		movable                bool
		reason                 string
	}{
		{"portable", everything, "suggest_request.requested - - " + enqueue + "\nturn.completed - - " +
			request("transcript.upsert", "performed"), true, ""},
		{"one profile", everything + `,"runtime":{"profiles":[{"name":"codex-manager"}]}`, "e - - 1", false,
			"under profile fixture-profile: incompatible_runtime"},
		{"undeclared", "", "e - - 1", false, "trust_denied"},
		{"throws", everything, "e - - !boom", false, "e: handler failed: boom"},
		{"reports an action itself", everything, `e - - {"actionType":"x","status":"performed"}`, false, "is invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := folder(t)
			write(t, root, map[string]string{"events.js": c.script, "extension.manifest.json": manifest("m", c.manifest)})
			report := extensions.Conformance(t.Context(), root, []extensions.Host{&scriptHost{}}, nil)
			if report.Movable != c.movable ||
				(c.reason != "" && !strings.Contains(strings.Join(report.Reasons, "\n"), c.reason)) {
				t.Errorf("%s", shape(t, report))
			}
			if c.movable && (*report.Profiles[1].EnqueueJobType != "suggest_request" || report.Profiles[0].Status != "passed" ||
				len(report.Profiles) != 2) {
				t.Errorf("%s", shape(t, report))
			}
		})
	}
	if report := extensions.Conformance(t.Context(), folder(t), nil, nil); report.Movable ||
		!strings.Contains(report.Reasons[0], "no extension in this folder") {
		t.Errorf("an empty folder: %s", shape(t, report))
	}
}
