package stream

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// AS-01..AS-06: every name of the catalogue.
func TestSignalNamesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/signals.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(rows) < 39 {
		t.Fatalf("%d rows, the catalogue has 32 notifications and 7 requests", len(rows))
	}
	for _, row := range rows {
		method, want, _ := strings.Cut(row, "\t")
		want = strings.TrimPrefix(strings.TrimPrefix(want, "app_server."), "request.")
		if got := signalName(method); got != want {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
	}
}

// AS-04: every method of the catalogues of both codex versions has a distinct, well-formed name.
func TestSignalNamesOfCatalogues(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/methods.json")
	if err != nil {
		t.Fatal(err)
	}
	var catalogue map[string][]string
	if err := json.Unmarshal(data, &catalogue); err != nil {
		t.Fatal(err)
	}
	wellFormed := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*(\.[a-z0-9]+(_[a-z0-9]+)*)*$`)
	for kind, methods := range catalogue {
		seen := map[string]string{}
		for _, method := range methods {
			name := signalName(method)
			if !wellFormed.MatchString(name) || strings.Count(name, ".") != strings.Count(method, "/") {
				t.Errorf("%s %s is named %s", kind, method, name)
			}
			if other := seen[name]; other != "" {
				t.Errorf("%s and %s are both named %s", method, other, name)
			}
			seen[name] = method
		}
		if len(methods) < 10 {
			t.Errorf("only %d methods of %s", len(methods), kind)
		}
	}
}

// AS-04, AS-07: unknown methods follow the same rules.
func TestSignalNamesOfUnknownMethods(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"thread/HTTPServer/gone": "thread.http_server.gone",
		"thread/v2Thing":         "thread.v2_thing",
		"a-b/c.d":                "a_b.c_d",
		"_lead__twice_":          "lead_twice",
		"":                       "unknown",
		"a//b":                   "a.unknown.b",
		"--/x":                   "x",
		"--":                     "unknown",
		"ABC":                    "abc",
		"gatewayOAuth/changed":   "gateway_o_auth.changed",
		"überMethode":            "ber_methode",
		"rawResponseItem/ID":     "raw_response_item.id",
	} {
		if got := signalName(method); got != want {
			t.Errorf("%q: got %s, want %s", method, got, want)
		}
	}
}
