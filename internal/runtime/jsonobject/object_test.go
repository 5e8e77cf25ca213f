package jsonobject_test

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime/jsonobject"
)

func TestStrings(t *testing.T) {
	t.Parallel()
	var found []string
	raw := []byte(`{"a" : "x\\","b":["y\"",{"c":"z"}], "d":1,"e":{"f":"":null}}`)
	jsonobject.EachString(raw, func(member []byte, start, end int) {
		found = append(found, string(member)+"="+string(raw[start:end]))
	})
	if got := strings.Join(found, " "); got != `=a a=x\\ =b =y\" =c c=z =d =e =f f=` {
		t.Errorf("found %s", got)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	o := jsonobject.Parse(json.RawMessage(`{"b": [1, 2.50], "a<": "x", "b": {"z":1, "y":null}, "n": 1}`))
	o.Replace("none", json.RawMessage("1"))
	o = o.Set("a<", json.RawMessage(`"\u00e4"`)).Set("new", json.RawMessage("10000000000000000000001"))
	if got := string(o.Encode()); got != `{"b":{"z":1, "y":null},"a<":"\u00e4","n":1,"new":10000000000000000000001}` {
		t.Errorf("encoded %s", got)
	}
	if o.Text("a<") != "ä" || o.Text("n") != "" || o.Text("none") != "" || o.Get("none") != nil ||
		string(o.Get("n")) != "1" {
		t.Errorf("read %q, %q, %s", o.Text("a<"), o.Text("n"), o.Get("none"))
	}
	if got := jsonobject.Parse(json.RawMessage(`{}`)); got == nil || string(got.Encode()) != "{}" {
		t.Errorf("an empty object is %v", got)
	}
	for _, none := range []string{``, `null`, `[]`, `1`, `{"a"`, `{"a":1`, `{"a":}`, `{1:2}`} {
		if got := jsonobject.Parse(json.RawMessage(none)); got != nil {
			t.Errorf("%s is %v", none, got)
		}
	}
}
