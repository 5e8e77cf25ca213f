package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"harness/api/schema"
)

func issuesOf(t *testing.T, s schema.Schema, v schema.Value) string {
	t.Helper()
	_, issues := schema.Check(s, v)
	encoded, err := json.Marshal(issues)
	if err != nil {
		t.Fatal(err)
	}
	var plain strings.Builder
	// json.Marshal escapes < and > in a Marshaler's output; the wire format does not.
	plain.WriteString(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(encoded)))
	return plain.String()
}

func parse(t *testing.T, text string) schema.Value {
	t.Helper()
	v, err := schema.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestIssues checks the member order and messages of each kind of issue; most are recorded, see api/testdata.
func TestIssues(t *testing.T) {
	t.Parallel()
	text := schema.Text{}.Trim().Min(2).Max(3)
	limit := schema.Integer().Coerce().Min(1).Max(200)
	tagged := schema.Tagged("type",
		schema.Variant{Tag: "a", Schema: schema.Struct(schema.Field{Name: "n", Schema: schema.Integer().Above(0)})})
	for _, c := range []struct {
		schema      schema.Schema
		value, want string
	}{
		{text, `" ab "`, `null`},
		{text, `" a "`, `[{"origin":"string","code":"too_small","minimum":2,"inclusive":true,"path":[],"message":"Too ` +
			`small: expected string to have >=2 characters"}]`},
		{text, `"😀😀"`, `[{"origin":"string","code":"too_big","maximum":3,"inclusive":true,"path":[],"message":"Too big: ` +
			`expected string to have <=3 characters"}]`},
		{text, `null`, `[{"expected":"string","code":"invalid_type","path":[],"message":"Invalid input: expected string, received null"}]`},
		{limit, `"5"`, `null`},
		{limit, `"0x10"`, `null`},
		{limit, `" 2e1 "`, `null`},
		{limit, `true`, `null`},
		{limit, `["7"]`, `null`},
		{limit, `"1_0"`, `[{"expected":"number","code":"invalid_type","received":"NaN","path":[],"message":"Invalid ` +
			`input: expected number, received NaN"}]`},
		{limit, `["2","3"]`,
			`[{"expected":"number","code":"invalid_type","received":"NaN","path":[],"message":"Invalid input: expected number, received NaN"}]`},
		{limit, `null`, `[{"origin":"number","code":"too_small","minimum":1,"inclusive":true,"path":[],"message":"Too ` +
			`small: expected number to be >=1"}]`},
		{limit, `"1e999"`,
			`[{"expected":"number","code":"invalid_type","received":"Infinity","path":[],"message":"Invalid input: expected ` +
				`number, received Infinity"}]`},
		{schema.Integer(), `1.0`, `null`},
		{schema.Integer(), `1.5`,
			`[{"expected":"int","format":"safeint","code":"invalid_type","path":[],"message":"Invalid input: expected int, received number"}]`},
		{schema.Integer(), `-1e21`,
			`[{"code":"too_small","minimum":-9007199254740991,"note":"Integers must be within the safe integer range.",` +
				`"origin":"int","inclusive":true,"path":[],"message":"Too small: expected int to be >=-9007199254740991"}]`},
		{schema.Integer().Above(0), `0`,
			`[{"origin":"number","code":"too_small","minimum":0,"inclusive":false,"path":[],"message":"Too small: expected number to be >0"}]`},
		{schema.ListOf(schema.Boolean()).Min(1).Max(1), `[1,2]`,
			`[{"expected":"boolean","code":"invalid_type","path":[0],"message":"Invalid input: expected boolean, received number"},` +
				`{"expected":"boolean","code":"invalid_type","path":[1],"message":"Invalid input: expected boolean, received number"},` +
				`{"origin":"array","code":"too_big","maximum":1,"inclusive":true,"path":[],"message":"Too big: expected array to have <=1 items"}]`},
		{schema.Record(schema.Boolean()), `{"a":{"b":1}}`,
			`[{"expected":"boolean","code":"invalid_type","path":["a"],"message":"Invalid input: expected boolean, received object"}]`},
		{schema.Record(schema.Any()), `[]`,
			`[{"expected":"record","code":"invalid_type","path":[],"message":"Invalid input: expected record, received array"}]`},
		{tagged, `{"type":"a","n":1}`, `null`},
		{tagged, `{"type":"b"}`,
			`[{"code":"invalid_union","errors":[],"note":"No matching discriminator","discriminator":"type","path":["type"],` +
				`"message":"Invalid input"}]`},
		{tagged, `1`, `[{"code":"invalid_type","expected":"object","path":[],"message":"Invalid input: expected object, received number"}]`},
	} {
		if got := issuesOf(t, c.schema, parse(t, c.value)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.value, got, c.want)
		}
	}
}

// TestAbsent: only an absent value is absent. null is a value.
func TestAbsent(t *testing.T) {
	t.Parallel()
	s := schema.Struct(
		schema.Field{Name: "a", Schema: schema.Optional(schema.Boolean())},
		schema.Field{Name: "b", Schema: schema.Nullable(schema.Boolean())},
		schema.Field{Name: "c", Schema: schema.Default(schema.Text{}, schema.StringValue("z"))})
	v, issues := schema.Check(s, parse(t, `{"b":null,"unknown":1}`))
	if len(issues) != 0 || string(v.JSON()) != `{"b":null,"c":"z"}` {
		t.Errorf("got %s, %v", v.JSON(), issues)
	}
	if got := issuesOf(t, s, parse(t, `{"a":null}`)); strings.Count(got, "expected") != 4 {
		t.Errorf("null for optional and absent nullable: got %s", got)
	}
	if _, issues := schema.Check(schema.Optional(s), schema.Value{}); len(issues) != 0 {
		t.Errorf("an absent optional body: got %v", issues)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1,"b":2,"a":3}`:                         `{"b":2,"a":3}`,
		"\ufeff [ 1.50 , \"\\u0041\\ud83d\\ude00\" ]": `[1.50,"\u0041\ud83d\ude00"]`,
		"\"\xff\"":         "\"\ufffd\"",
		"{\"a\" :\n\t[ ]}": `{"a":[]}`,
		"  -0.0e+1 ":       `-0.0e+1`,
		`{"constructor":1,"x":{"constructor":{}}}`: `{"constructor":1,"x":{"constructor":{}}}`,
	} {
		v, err := schema.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got, want := canonical(t, v.JSON()), canonical(t, []byte(want))
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		if strings.ContainsAny(string(v.JSON()), "\n\t") {
			t.Errorf("%q: %q would break a line protocol", text, v.JSON())
		}
	}
	for _, text := range []string{``, `{`, `{a:1}`, `01`, `{"__proto__":1}`, `[{"x":{"__proto__":1}}]`,
		`{"__pr\u006fto__":1}`, `{"constructor":{"prototype":1}}`, strings.Repeat("[", 20000)} {
		if _, err := schema.Parse(text); err == nil {
			t.Errorf("%.40q was accepted", text)
		}
	}
}

func canonical(t *testing.T, text []byte) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return fmt.Sprint(v)
}

// Parsing a body with many names must cost about as much as its size. Quadratic work on 1 MiB would take minutes.
func TestParseManyNames(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	body.WriteByte('{')
	for i := range 100_000 {
		fmt.Fprintf(&body, `"%d":0,`, i)
	}
	body.WriteString(`"7":1}`)
	deadline := time.AfterFunc(20*time.Second, func() { panic("parsing 100000 names takes more than 20 s") })
	defer deadline.Stop()
	v := parse(t, body.String())
	if len(v.Members()) != 100_000 || v.Get("7").Int() != 1 {
		t.Errorf("got %d members, %d", len(v.Members()), v.Get("7").Int())
	}
}

func TestParseQuery(t *testing.T) {
	t.Parallel()
	v := schema.ParseQuery("a=1&b=x+y%20z&a=2&c&=d&bad=%zz&&a=3")
	want := `{"a":["1","2","3"],"b":"x y z","c":"","":"d","bad":"%zz"}`
	if got := string(v.JSON()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`[-0,1.5e+3,"\\u00e9\\n",[],{},{"a" : true},null]`, `[1,]`, `{"a"}`, `[01]`, `1.`, `1e`,
		`-`, `"\\x"`, `tru`, "\"\n\"", `{"a":1,}`, `1 2`, `{"a":[1,"\u00e9",null,{"b":-1.5e3}]}`, `"\ud800"`, ` [ ] `,
		`{"a":1,"a":2}`, "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := schema.Parse(text)
		if err != nil {
			return
		}
		if !json.Valid(v.JSON()) {
			t.Fatalf("%q became %q", text, v.JSON())
		}
		again, err := schema.Parse(string(v.JSON()))
		if err != nil || string(again.JSON()) != string(v.JSON()) {
			t.Fatalf("%q does not survive a second reading: %v", text, err)
		}
	})
}

// Parts that strict parsers refuse are not passed on. Everything around them stays unchanged.
func TestUnportableJSONIsReplaced(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"a":"\ud800","b": [1.50, "\u0041"]}`:                             `{"a":"` + "\ufffd" + `","b":[1.50,"\u0041"]}`,
		`["\udc00\ud83d\ude00x"]`:                                          `["` + "\ufffd\U0001F600" + `x"]`,
		`["\ud83d\ude00",1e308,-0,12345678901234567890]`:                   `["\ud83d\ude00",1e308,-0,12345678901234567890]`,
		`{"n":[1e400,-1E+999,` + strings.Repeat("9", 400) + `],"m":1e400}`: `{"n":[null,null,null],"m":null}`,
		`{"\ud800":{"x":1}}`:                                               `{"` + "\ufffd" + `":{"x":1}}`,
	} {
		value, err := schema.Parse(given)
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		if got := string(value.JSON()); got != want {
			t.Errorf("%s is passed on as %s, want %s", given, got, want)
		}
	}
	if _, err := schema.Parse(strings.Repeat("[", 100) + strings.Repeat("]", 100)); err != nil {
		t.Errorf("100 levels: %v", err)
	}
	if _, err := schema.Parse(strings.Repeat("[", 101) + strings.Repeat("]", 101)); err == nil {
		t.Error("101 levels are accepted")
	}
}
