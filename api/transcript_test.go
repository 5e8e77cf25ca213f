package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	oneUpsert   = "/api/sessions/" + knownID + "/transcript/upsert"
	manyUpserts = "/api/sessions/" + knownID + "/transcript/upserts"
)

func upsertOf(id, content string) string {
	return `{"messageId":` + id + `,"turnId":" ci ","role":"system","type":"ci.log","content":` + content +
		`,"details":null,"status":"complete","unknown":1}`
}

func many(bodies ...string) string { return `{"entries":[` + strings.Join(bodies, ",") + `]}` }

// A request with many entries gets the results of the single requests, in order.
func TestManyUpsertsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	bodies := []string{upsertOf(`"b"`, `"<é>\u2028\ud800\u0000\""`), upsertOf(`" a "`, `""`), upsertOf(`"b"`, `"again"`),
		`{"messageId":"c","turnId":"t","role":"user","type":"x","content":"c","details":"d","startedAt":2,` +
			`"completedAt":1e3,"status":"streaming"}`}
	alone, together := setup(t), setup(t)
	var entries []string
	for _, body := range bodies {
		entry, found := strings.CutPrefix(alone.post(oneUpsert, body).Body.String(), `{"status":"ok","sessionId":"`+knownID+
			`","entry":`)
		if !found {
			t.Fatalf("%s got %s", body, entry)
		}
		entries = append(entries, strings.TrimSuffix(entry, "}"))
	}
	got := together.post(manyUpserts, many(bodies...))
	expect(t, got, http.StatusOK, `{"status":"ok","sessionId":"`+knownID+`","entries":[`+strings.Join(entries, ",")+`]}`)
	if err := readDocument(t).follows(got.Body.String(), "paths", "/api/sessions/{sessionId}/transcript/upserts", "post",
		"responses", "200", "content", "application/json", "schema"); err != nil {
		t.Error(err)
	}
	if len(together.sessions.entries) != len(bodies) {
		t.Fatalf("%d entries stored", len(together.sessions.entries))
	}
	for i, entry := range together.sessions.entries {
		if !entry.Equal(alone.sessions.entries[i]) {
			t.Errorf("entry %d is %+v, alone %+v", i, entry, alone.sessions.entries[i])
		}
	}
}

// An invalid entry makes the server refuse the whole request, with the entry's index.
func TestManyUpsertsAreRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	good := upsertOf(`"m"`, `"c"`)
	wrongRole := strings.Replace(good, `"system"`, `"root"`, 1)
	d := readDocument(t)
	for name, c := range map[string]struct {
		body   string
		status int
		issues string // "" for every value
	}{
		"one in the middle": {many(good, good, good, wrongRole, good), 400,
			`[{"code":"invalid_value","values":["user","assistant","system"],"path":["entries",3,"role"],` +
				`"message":"Invalid option: expected one of \"user\"|\"assistant\"|\"system\""}]`},
		"two": {many(upsertOf(`" "`, `"c"`), upsertOf(`"m"`, `1`)), 400,
			`[{"origin":"string","code":"too_small","minimum":1,"inclusive":true,"path":["entries",0,"messageId"],` +
				`"message":"Too small: expected string to have >=1 characters"},{"expected":"string","code":"invalid_type",` +
				`"path":["entries",1,"content"],"message":"Invalid input: expected string, received number"}]`},
		"none": {many(), 400,
			`[{"origin":"array","code":"too_small","minimum":1,"inclusive":true,"path":["entries"],"message":"Too small: ` +
				`expected array to have >=1 items"}]`},
		"too many": {many(slices.Repeat([]string{good}, 1001)...), 400,
			`[{"origin":"array","code":"too_big","maximum":1000,"inclusive":true,"path":["entries"],"message":"Too big: ` +
				`expected array to have <=1000 items"}]`},
		"no list": {`{"entries":` + good + `}`, 400,
			`[{"expected":"array","code":"invalid_type","path":["entries"],"message":"Invalid input: expected array, received object"}]`},
		"the single": {good, 400,
			`[{"expected":"array","code":"invalid_type","path":["entries"],"message":"Invalid input: expected array, received undefined"}]`},
		"no object": {many(good, `"m"`), 400,
			`[{"expected":"object","code":"invalid_type","path":["entries",1],"message":"Invalid input: expected object, received string"}]`},
		"a list":      {`[` + good + `]`, 400, ""},
		"no document": {`{"entries":[`, 400, ""},
		"over 1 MiB":  {many(upsertOf(`"m"`, `"`+strings.Repeat("x", 1<<20)+`"`)), 413, ""},
	} {
		b := setup(t)
		got := b.post(manyUpserts, c.body)
		var answer struct{ Issues json.RawMessage }
		if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if got.Code != c.status || c.issues != "" && string(answer.Issues) != c.issues {
			t.Errorf("%s: got  %d %s\nwant %d %s", name, got.Code, got.Body, c.status, c.issues)
		}
		if len(b.sessions.entries) != 0 {
			t.Errorf("%s: %d entries stored", name, len(b.sessions.entries))
		}
		if c.issues != "" && d.follows(c.body, "paths", "/api/sessions/{sessionId}/transcript/upserts", "post", "requestBody",
			"content", "application/json", "schema") == nil {
			t.Errorf("%s: the document allows %.200s", name, c.body)
		}
	}
}

// 1,000 entries are accepted, and so is a body of nearly 1 MiB.
func TestManyUpsertsUpToTheLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bodies := make([]string, 1000)
	for i := range bodies {
		bodies[i] = upsertOf(fmt.Sprintf(`"m%d"`, i), `"c"`)
	}
	for _, bodies := range [][]string{bodies, {upsertOf(`"huge"`, `"`+strings.Repeat(`\u0001`, 170_000)+`"`)}} {
		b.sessions.entries = nil
		if got := b.post(manyUpserts, many(bodies...)); got.Code != http.StatusOK || len(b.sessions.entries) != len(bodies) {
			t.Errorf("%d entries: %d %.200s, %d stored", len(bodies), got.Code, got.Body, len(b.sessions.entries))
		}
	}
}

// Unknown sessions and workers' sessions get the same response as on the route for one entry.
func TestManyUpsertsHaveTheGuardsOfOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.lookup = nil
	good := upsertOf(`"m"`, `"c"`)
	for _, id := range []string{knownID, deletedID, systemID, unknownID, "%20"} {
		base := "/api/sessions/" + id + "/transcript/"
		for _, bodies := range [][2]string{{good, many(good)}, {`{}`, many(`{}`)}, {`{`, `{`}} {
			one, several := b.post(base+"upsert", bodies[0]), b.post(base+"upserts", bodies[1])
			if one.Code != several.Code || one.Code >= 404 && one.Body.String() != several.Body.String() {
				t.Errorf("%s %s: one %d %s\nmany %d %s", id, bodies[0], one.Code, one.Body, several.Code, several.Body)
			}
		}
	}
}

// The log names the turn if all entries belong to the same one.
func TestManyUpsertsAreLoggedWithTheirTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := upsertOf(`"m"`, `"c"`)
	b.post(manyUpserts, many(good, good))
	if !strings.Contains(b.log.String(), `"turn_id":"ci"`) {
		t.Errorf("no turn in %s", b.log)
	}
	b.log.Reset()
	b.post(manyUpserts, many(good, strings.Replace(good, " ci ", "other", 1)))
	if strings.Contains(b.log.String(), `"turn_id"`) {
		t.Errorf("one of several turns in %s", b.log)
	}
}
