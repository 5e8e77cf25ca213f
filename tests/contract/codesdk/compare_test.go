package codesdk

import (
	"encoding/json"
	"slices"
	"testing"
)

func decoded(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// A comparison that cannot fail proves nothing.
func TestDifferencesAreListed(t *testing.T) {
	t.Parallel()
	const a, b = "05628b80-2c6f-4122-96e4-18f53c7298f3", "11628b80-2c6f-4122-96e4-18f53c7298f3"
	const hashA, hashB = "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",
		"sha256:b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b"
	for _, c := range []struct {
		subject, want, got string
		places             []string
	}{
		{"GET /", `{"a":1}`, `{"a":1}`, nil},
		{"GET /", `{"a":1}`, `{"a":2}`, []string{"body.a"}},
		{"GET /", `{"a":1}`, `{}`, []string{"body.-a"}},
		{"GET /", `{}`, `{"a":1}`, []string{"body.+a"}},
		{"GET /", `{"a":true}`, `{"a":"true"}`, []string{"body.a"}},
		{"GET /", `{"seq":1}`, `{"seq":3}`, nil},
		{"GET /", `{"seq":1}`, `{"seq":"3"}`, []string{"body.seq"}},
		{"GET /", `["` + a + `","` + a + `"]`, `["` + b + `","` + b + `"]`, nil},
		{"GET /", `["` + a + `","` + a + `"]`, `["` + b + `","` + a + `"]`, []string{"body[]"}},
		{"GET /", `["` + a + `","` + b + `"]`, `["x","x"]`, []string{"body[]"}},
		{"GET /", `[1]`, `[1,2]`, []string{"body"}},
		{"model.input", `{"input_hash":"` + hashA + `"}`, `{"input_hash":"` + hashB + `"}`, nil},
		{"tool.call.requested", `{"input_hash":"` + hashA + `"}`, `{"input_hash":"` + hashB + `"}`,
			[]string{"body.input_hash"}},
		{"GET /", `{"time":"2026-11-21T01:24:46.296Z"}`, `{"time":"now"}`, []string{"body.time"}},
		{"GET /", `{"text":"hello"}`, `{"text":""}`, []string{"body.text"}},
	} {
		compared := &comparison{ids: &bindings{map[string]string{}, map[string]string{}}, names: patterns(),
			subject: c.subject}
		compared.values("body", decoded(t, c.want), decoded(t, c.got))
		var places []string
		for _, d := range compared.found {
			places = append(places, d.Place)
		}
		if !slices.Equal(places, c.places) {
			t.Errorf("%s and %s differ in %v, want %v", c.want, c.got, places, c.places)
		}
	}
}

func TestEventsAreAligned(t *testing.T) {
	t.Parallel()
	of := func(kinds ...string) (all []event) {
		for _, kind := range kinds {
			all = append(all, event{"type": kind})
		}
		return all
	}
	c := &comparison{ids: &bindings{map[string]string{}, map[string]string{}}, names: patterns()}
	c.events(of("input", "model.output.delta", "model.output.delta", "usage", "end", "end"),
		of("started", "input", "model.output.delta", "usage", "end"))
	var found []string
	for _, d := range c.found {
		found = append(found, d.Subject+" "+d.Place)
	}
	if !slices.Equal(found, []string{"started +event", "end -event"}) {
		t.Errorf("found is %v", found)
	}
}

// Every recording is complete, and every row has a reason.
func TestRecordingsAndRows(t *testing.T) {
	t.Parallel()
	for _, topic := range Topics() {
		if records, err := Load(topic); err != nil || len(records) < 10 {
			t.Errorf("%s has %d records (%v)", topic, len(records), err)
		}
	}
	if _, err := Load("none"); err == nil {
		t.Error("a recording that is not there was read")
	}
	for _, row := range Rows() {
		if row.What == "" || row.Reason == "" || row.Subject == "" || row.Place == "" {
			t.Errorf("a row is not whole: %+v", row)
		}
	}
	open, _ := Unlisted([]Difference{{Subject: "GET /nothing", Place: "body.a"}})
	if len(open) != 1 {
		t.Error("an unlisted difference was treated as listed")
	}
	// A row covers only its own values.
	task := Difference{Subject: "POST /sessions/{session}/tasks", Place: "status", Want: "202", Got: `"500 broken"`}
	if open, _ := Unlisted([]Difference{task}); len(open) != 1 {
		t.Error("a task with status 500 was treated as listed")
	}
}
