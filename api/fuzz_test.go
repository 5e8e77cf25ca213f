package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"unicode/utf8"
)

// FuzzUpsertBody: for every body, the response is JSON with 200 or a 4xx, and a 200 means that exactly one entry was
// stored. If a list contains the body twice, the result is the same, and both entries are stored or neither.
func FuzzUpsertBody(f *testing.F) {
	for _, seed := range []string{
		`{"messageId":"m1","turnId":"t1","role":"assistant","type":"agentMessage","content":"hello","status":"streaming","startedAt":1000}`,
		`{"messageId":" m ","turnId":"t","role":"user","type":"x","content":"\ud800 \u2028","details":null,"status":"error","completedAt":1e3}`,
		`{"messageId":"m","turnId":"t","role":"user","type":"x","content":"","status":"complete","startedAt":9007199254740993}`,
		`{"__proto__":{}}`, `{"constructor":{"prototype":1}}`, `[]`, `null`, ``, "\xff", `{"a":1,"a":{"b":[1,2,{"c":null}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := setup(t)
		got := b.post("/api/sessions/"+knownID+"/transcript/upsert", string(body))
		if !json.Valid(got.Body.Bytes()) || !utf8.Valid(got.Body.Bytes()) {
			t.Fatalf("%q: answer is no JSON: %q", body, got.Body)
		}
		stored := len(b.sessions.entries)
		switch got.Code {
		case http.StatusOK:
			if stored != 1 {
				t.Fatalf("%q: 200 with %d entries stored", body, stored)
			}
			if e := b.sessions.entries[0]; e.MessageID == "" || e.TurnID == "" || e.Type == "" {
				t.Fatalf("%q: stored without an id: %+v", body, e)
			}
		case http.StatusBadRequest:
			if stored != 0 {
				t.Fatalf("%q: 400 with %d entries stored", body, stored)
			}
		default:
			t.Fatalf("%q: got %d %s", body, got.Code, got.Body)
		}
		if !json.Valid(body) {
			return // it might end the list
		}
		b.sessions.entries = nil
		list := b.post("/api/sessions/"+knownID+"/transcript/upserts", `{"entries":[`+string(body)+`,`+string(body)+`]}`)
		if list.Code != got.Code || len(b.sessions.entries) != 2*stored || !json.Valid(list.Body.Bytes()) {
			t.Fatalf("%q: alone %d, twice %d with %d entries stored: %s", body, got.Code, list.Code,
				len(b.sessions.entries), list.Body)
		}
	})
}
