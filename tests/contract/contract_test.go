package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	recordedA, recordedB = "01a1fbb7-da59-71f1-8746-2ce1c0248883", "01a1fbb7-d9dc-75e3-85ba-92f703a91e87"
	oursA, oursB         = "01a1fc2e-524a-7451-ba04-f83d0ddcd019", "01a1fc2e-5263-73c2-8848-71bcbac3b4c5"
)

func differences(t *testing.T, want, got string) []string {
	t.Helper()
	c := comparison{bindings: newBindings([]Place{{"{{WORK}}", "/some/where"}})}
	c.bodies("body", want, got)
	var places []string
	for _, d := range c.found {
		places = append(places, d.Place)
	}
	return places
}

// A comparison that cannot fail proves nothing.
func TestBodiesDiffer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, got, place string }{
		{`{"a":1}`, `{"a":2}`, "body.a"},
		{`{"a":1}`, `{"a":"1"}`, "body.a"},
		{`{"a":null}`, `{}`, "body.a"},
		{`{}`, `{"a":1}`, "body.a"},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, "body order"},
		{`[1,2]`, `[1]`, "body.length"},
		{`{"a":{"b":["x"]}}`, `{"a":{"b":["y"]}}`, "body.a.b[0]"},
		{`{"a":1700000000}`, `{"a":1795224000}`, "body.a"},
		{`{"a":1795224000}`, `{"a":1795224000000}`, "body.a"},
		{`{"a":"` + recordedA + `"}`, `{"a":"no id"}`, "body.a"},
		{`["` + recordedA + `","` + recordedA + `"]`, `["` + oursA + `","` + oursB + `"]`, "body[1]"},
		{`["` + recordedA + `","` + recordedB + `"]`, `["` + oursA + `","` + oursA + `"]`, "body[1]"},
		{`not json`, `{}`, "body"},
		{`[{"requestId":0},{"requestId":0}]`, `[{"requestId":"a"},{"requestId":"b"}]`, "body[1].requestId"},
		{`[{"requestId":0},{"requestId":1}]`, `[{"requestId":"a"},{"requestId":"a"}]`, "body[1].requestId"},
		{`[{"requestId":0},{"requestId":1}]`, `[{"requestId":7},{"requestId":7}]`, "body[1].requestId"},
		{`[{"requestId":0},{"approvalId":"0"}]`, `[{"requestId":"a"},{"approvalId":"b"}]`, "body[1].approvalId"},
		{`{"requestId":0}`, `{"requestId":null}`, "body.requestId"},
	} {
		if got := differences(t, c.want, c.got); !slices.Equal(got, []string{c.place}) {
			t.Errorf("%s and %s differ in %v, want %s", c.want, c.got, got, c.place)
		}
	}
}

func TestBodiesAreEqualAfterNormalising(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, got string }{
		{`{"createdAt":"2026-11-21T01:28:13.192Z","n":1795224953}`,
			`{"createdAt":"2026-11-22T11:00:00.000Z","n":1795233154}`},
		{`{"a":"` + recordedA + `","b":"x ` + recordedA + ` y"}`, `{"a":"` + oursA + `","b":"x ` + oursA + ` y"}`},
		{`{"cwd":"{{WORK}}/a"}`, `{"cwd":"/some/where/a"}`},
		{`{"messageId":"approval-11"}`, `{"messageId":"approval-` + oursA + `"}`},
		{`{"id":"session-controls-1795224952165-6c52a9e1"}`, `{"id":"session-controls-1795233154033-f9302111"}`},
		{`{"pid":1}`, `{"pid":2}`},
		{`{"type":"agentMessage","text":"Tool finished."}`, `{"type":"agentMessage","text":"other words"}`},
		{`{"n":1.0}`, `{"n":1}`},
		{`[{"requestId":0},{"requestId":1},{"approvalId":"0"}]`, `[{"requestId":"a"},{"requestId":"b"},{"approvalId":"a"}]`},
		{`[{"requestId":0},{"requestId":0}]`, `[{"requestId":"0"},{"requestId":5}]`},
	} {
		if got := differences(t, c.want, c.got); got != nil {
			t.Errorf("%s and %s differ in %v", c.want, c.got, got)
		}
	}
}

func TestRecordedIDsAreReplacedInRequests(t *testing.T) {
	t.Parallel()
	ids := newBindings([]Place{{"{{LAB}}", "/lab"}})
	ids.bind(recordedA, oursA)
	ids.bind(requestID("3"), oursB)
	ids.bind("cursor a|b", "c d")
	for want, text := range map[string]string{
		"/api/sessions/" + oursA + "/messages":       "/api/sessions/" + recordedA + "/messages",
		"/api/sessions/" + recordedB:                 "/api/sessions/" + recordedB,
		"/api/approvals/" + oursB + "/decision":      "/api/approvals/3/decision",
		"/api/approvals/4/decision":                  "/api/approvals/4/decision",
		"/api/sessions?cursor=c+d&limit=1":           "/api/sessions?cursor=a%7Cb&limit=1",
		"/api/skills?cwd=/lab/x":                     "/api/skills?cwd={{LAB}}/x",
		"/api/stream?threadId=" + oursA + "&foo=bar": "/api/stream?threadId=" + recordedA + "&foo=bar",
	} {
		if got := ids.path(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

func TestOrderIsComparedByTheLongestCommonSequence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, got, result string }{
		{"a b c", "a b c", "map[] map[]"},
		{"a b c", "a c", "map[b:1] map[]"},
		{"a b", "a x b x", "map[] map[x:2]"},
		{"a b", "b a", "map[a:1] map[a:1]"},
	} {
		missing, extra := unmatched(strings.Fields(c.want), strings.Fields(c.got))
		if got := fmt.Sprint(missing, extra); got != c.result {
			t.Errorf("%s against %s: %s, want %s", c.want, c.got, got, c.result)
		}
	}
}

// A row covers the differences it names, and an exchange is excused only when every difference is covered.
func TestOnlyRowsExcuse(t *testing.T) {
	t.Parallel()
	known := Difference{Place: "body.thread.originator"}
	if _, all := excuse("sessions", Result{Subject: "GET /api/sessions/x", Differences: []Difference{known}}); !all {
		t.Error("a row does not excuse what it names")
	}
	if _, all := excuse("sessions",
		Result{Subject: "GET /api/sessions/x", Differences: []Difference{known, {Place: "body.other"}}}); all {
		t.Error("a difference no row names was excused")
	}
	for name, want := range map[string]bool{"GET role array": true, "GET role number": false} {
		if _, all := excuse("rbac-jwt", Result{Name: name, Subject: "GET /api/agents/extensions", Differences: []Difference{{Place: "status"}}}); all != want {
			t.Errorf("%s: excused is %v", name, all)
		}
	}
}

func TestEveryRecordingLoadsAndHoldsNoForeignPath(t *testing.T) {
	t.Parallel()
	for _, topic := range Topics() {
		records, err := Load(topic.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) < 10 || records[0].Kind != KindMeta {
			t.Errorf("%s has %d records", topic.Name, len(records))
		}
		names := map[string]bool{}
		for _, record := range records {
			names[record.Name] = true
			for _, text := range []string{record.Path, record.ResponseBody, record.Data, fmt.Sprint(record.Env)} {
				if strings.Contains(text, "/home/") && !strings.Contains(text, "{{LAB}}/home/") {
					t.Errorf("%s, %s: a path of the recorder's machine: %.200s", topic.Name, record.Name, text)
				}
			}
		}
		moments := map[string]string{}
		for moment, reason := range topic.Moments {
			moments[moment.Exchange] = reason
		}
		for _, named := range []map[string]string{topic.Incomparable, moments} {
			for name := range named {
				if !names[name] {
					t.Errorf("%s has no exchange %q", topic.Name, name)
				}
			}
		}
	}
}
