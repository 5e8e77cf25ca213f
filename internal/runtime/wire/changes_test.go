package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A request carries its changes with counts and a bounded diff. (TI-07)
func TestFileChanges(t *testing.T) {
	t.Parallel()
	diff := "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n+3\n"
	got := FileChanges(json.RawMessage(`{"changes":[{"path":"/w/a","kind":{"type":"update","move_path":"/w/b"},"diff":` +
		string(mustText(diff)) + `},{"path":"/w/n","kind":{"type":"add"},"diff":"x\ny"},{"path":"/w/d","kind":{"type":"delete"},"diff":"x\n"}]}`))
	want := []ChangedFile{{Path: "/w/a", Kind: "update", MovePath: "/w/b", Added: 2, Removed: 1, Diff: diff},
		{Path: "/w/n", Kind: "add", Added: 2, Diff: "x\ny"}, {Path: "/w/d", Kind: "delete", Removed: 1, Diff: "x\n"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var many []string
	for n := range 60 {
		many = append(many, fmt.Sprintf(`{"path":"/%d","kind":{"type":"add"},"diff":"%s"}`, n, strings.Repeat("é", 20_000)))
	}
	got = FileChanges(json.RawMessage(`{"changes":[` + strings.Join(many, ",") + `]}`))
	size := 0
	for _, one := range got {
		size += len(one.Diff)
		if !one.Cut || one.Added != 1 {
			t.Errorf("%s has %d bytes, cut is %t, %d lines added", one.Path, len(one.Diff), one.Cut, one.Added)
		}
	}
	if len(got) != maxChanged || size > maxDiffs {
		t.Errorf("%d changes with %d bytes", len(got), size)
	}
	for _, none := range []string{`null`, `{}`, `{"changes":[{"path":""}]}`, `{"changes":7}`} {
		if got := FileChanges(json.RawMessage(none)); got != nil {
			t.Errorf("%s has %v", none, got)
		}
	}
}

func mustText(text string) json.RawMessage {
	encoded, _ := json.Marshal(text)
	return encoded
}
