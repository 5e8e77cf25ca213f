package jcs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/lib/jcs"
)

// The vectors of RFC 8785 (numbers of its appendix B, the sorting example), and refused inputs.
func TestTransform(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{ "b" : 1 , "a" : [ true, null, "x" ] }`:                                     `{"a":[true,null,"x"],"b":1}`,
		`[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`:       `[333333333.3333333,1e+30,4.5,0.002,1e-27]`,
		`[-0, 0.0, 1e21, 1e20, 0.000001, 1e-7, 9007199254740993]`:                     `[0,0,1e+21,100000000000000000000,0.000001,1e-7,9007199254740992]`,
		`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`:                             `"€$\u000f\nA'B\"\\\\\"/"`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`: "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		`"<>&\u2028"`: "\"<>&\u2028\"",
	} {
		got, err := jcs.Transform(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `1 2`, `1e999`, strings.Repeat("[", 300) + strings.Repeat("]", 300)} {
		if got, err := jcs.Transform(json.RawMessage(in)); err == nil {
			t.Errorf("%.20s: %s", in, got)
		}
	}
}

func FuzzTransform(f *testing.F) {
	f.Add([]byte(`{"a":[1.5,"x"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := jcs.Transform(raw)
		if err != nil {
			return
		}
		twice, err := jcs.Transform(once)
		if err != nil || string(once) != string(twice) {
			t.Errorf("%q: %q, then %q, %v", raw, once, twice, err)
		}
	})
}
