package javascript_test

import (
	"math"
	"testing"

	"harness/internal/lib/javascript"
)

// JSON and times have the bytes that a JavaScript server would send.
func TestAsJavaScriptWritesIt(t *testing.T) {
	t.Parallel()
	const text = "<a> & \u2028\u2029 \\u2028 \"q\" \x00"
	out, err := javascript.Stringify(struct {
		Z string `json:"z"`
		A int    `json:"a"`
	}{text, 1})
	if want := "{\"z\":\"<a> & \u2028\u2029 \\\\u2028 \\\"q\\\" \\u0000\",\"a\":1}"; err != nil || string(out) != want {
		t.Errorf("got  %s, %v\nwant %s", out, err, want)
	}
	if out := javascript.MustEncode("\u2028<"); string(out) != `"\u2028<"` {
		t.Errorf("got %s", out)
	}
	if _, err := javascript.Encode(math.Inf(1)); err == nil {
		t.Error("what is no JSON was encoded")
	}
	if got := javascript.ISOTime(1795224552020); got != "2026-11-21T01:29:12.020Z" {
		t.Errorf("got %s", got)
	}
}
