package js_test

import (
	"strings"
	"testing"

	"harness/extensions/js"
	"harness/tests/extensionstest"
)

func TestHandlersReturnAndThrow(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, body, want, wantErr string }{
		{"value", `(event) => ({kind: "handler_result", got: event.payload.n, type: event.type})`,
			`{"kind":"handler_result","got":1,"type":"e"}`, ""},
		{"undefined EX-18", `() => {}`, ``, ""},
		{"null", `() => null`, `null`, ""},
		{"async", `async (event) => event.payload`, `{"n":1}`, ""},
		{"promise of a timer", `() => new Promise((resolve) => setTimeout(resolve, 5, "late"))`, `"late"`, ""},
		{"thrown error EX-13", `() => { throw new Error("boom") }`, ``, "boom"},
		{"thrown null", `() => { throw null }`, ``, "null"},
		{"rejection", `async () => { throw new TypeError("bad type") }`, ``, "bad type"},
		{"rejection in a timer's promise", `() => new Promise((_, reject) => setTimeout(() => reject("text"), 1))`,
			``, "text"},
		{"bigint", `() => ({n: 10n})`, `{"n":"10"}`, ""},
		{"error value", `() => ({e: new Error("inner")}).e.message`, `"inner"`, ""},
		{"cycle", `() => { const a = {}; a.a = a; return a }`, ``, "can not be used"},
		{"function", `() => () => 1`, ``, ""},
		{"microtasks", `() => new Promise((resolve) => queueMicrotask(() => queueMicrotask(() => resolve(3))))`, `3`, ""},
		{"unicode", `() => "äöü 🙂 \u2028"`, "\"äöü 🙂 \u2028\"", ""},
		{"timer handle", `() => { const h = setTimeout(() => {}, 1e9); h.unref().ref(); clearTimeout(h); clearTimeout(+h); return h.hasRef() }`,
			`true`, ""},
		{"modern syntax", `() => { class A { #x = 1; static { A.y = 2 } get x() { return this.#x } } return [new A().x, ` +
			`A.y, [3,1,2].toSorted(), "a1".match(/(?<d>\d)/).groups.d] }`,
			`[1,2,[1,2,3],"1"]`, ""},
		{"no ambient authority",
			`() => ["process", "require", "Buffer", "std", "os", "__host", "XMLHttpRequest", "Deno", "Bun", "print", ` +
				`"scriptArgs"].filter((name) => name in globalThis)`,
			`[]`, ""},
		{"no import", `async () => { const name = "std"; return await import(name) }`, ``, ""},
		{"no blocking", `() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9)`, ``, ""},
	}
	bodies := make([]string, len(cases))
	for i, c := range cases {
		bodies[i] = c.body
	}
	module := load(t, newHost(js.Limits{}), extensionstest.Handlers(bodies...))
	for i, c := range cases {
		got, err := extensionstest.Handle(t, module, i, &extensionstest.Tools{})
		switch {
		case c.name == "no import" || c.name == "no blocking":
			if err == nil {
				t.Errorf("%s: returned %s", c.name, got)
			}
		case c.wantErr != "":
			if err == nil || !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("%s: error is %v, want %s", c.name, err, c.wantErr)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	if health := module.Health(); health.Restarts != 0 {
		t.Errorf("health is %+v", health)
	}
}
