package js_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/js"
	"harness/extensions/process"
	"harness/tests/extensionstest"
)

// tried is a helper for all probes: thrown(f) is the name of the error that f throws.
const tried = `const thrown = (f) => { try { f(); return "nothing" } catch (e) { return e.name } };
const later = async (f) => { try { return await f() } catch (e) { return e.name } };
const shown = (u) => [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash];
const url = (input, base) => { try { return shown(new URL(input, base)) } catch (e) { return [e.name, e.code] } };
const set = (input, ...changes) => { const u = new URL(input); for (const [k, v] of changes) try { u[k] = v } catch (e) { return e.name } return shown(u) };
`

// probes are expressions that must have the same value in the embedded host and in Node.
func probes() map[string][]string {
	quoted := func(format string, inputs ...string) (out []string) {
		for _, input := range inputs {
			out = append(out, strings.ReplaceAll(format, "$", input))
		}
		return out
	}
	return map[string][]string{
		"URL": quoted(`url($)`,
			`"https://user:pa%20ss@Example.COM:8080/a/./b/../c?x=1&y=%zz#frag ment"`, `"http://example.com:80/"`,
			`"HTTPS://EXAMPLE.com:443"`,
			`"//x", "https://h/p"`, `"../../x?q#f", "http://h/a/b/c/d"`, `"?q", "http://h/a?b#c"`, `"#f", "http://h/a?b#c"`,
			`"", "http://h/a?b#c"`,
			`"http:foo", "http://h/a/"`, `"http:\\\\h\\p"`, `" \t http://h/\np "`, `"http://h:99999/"`, `"http://[::1]:80/"`,
			`"http://[2001:db8:0:0:1:0:0:1]/"`,
			`"http://0x7f.1/"`, `"http://256.256.256.256/"`, `"http://1.2.3/"`, `"http://bücher.example/ü?ü#ü"`,
			`"http://faß.de/"`, `"http://a b/"`, `"http://a%41/"`,
			`"mailto:a@b.c"`, `"data:text/plain,hi there?x#y"`, `"file:///C:/a/../b"`, `"file://localhost/etc"`,
			`"blob:https://h/uuid"`, `"javascript:alert(1)"`,
			`"not a url"`, `"/p"`, `"http://"`, `"http://h/%7Ea/%2e%2E/b"`, `"http://h/a;b=1/'\"<>{}|^"+"\x60"`,
			`"http://h/?'\"<>\x60"`, `"http://h/#\"<>\x60"`,
			`"ws://h:80/"`, `"foo://h:80/a b?c d"`, `"foo:/a/../../b"`, `"http://h/\ud800x"`, `"http://h/😀"`, `"http://u@/x"`,
			`"http://h@x@y/"`, `"http://:p@h/"`,
			`"http://example.com./"`, `"http://xn--mgba3gch31f060k.com/"`, `"http://1e2/"`, `"http://h:0/"`, `"http://h:/"`,
			`"http://h/a//b"`),
		"URL setters": quoted(`set($)`,
			`"http://h/p", ["protocol", "https"]`, `"http://h/p", ["protocol", "mailto"]`,
			`"http://h:443/p", ["protocol", "https:"]`, `"http://h/p", ["host", "x:81"]`,
			`"http://h:9/p", ["host", "x"]`, `"http://h/p", ["hostname", "a b"]`, `"http://h/p", ["port", "80"]`,
			`"http://h/p", ["port", "8a"]`, `"http://h:5/p", ["port", ""]`,
			`"http://h/p", ["port", "70000"]`, `"http://h/p", ["pathname", "a b?c#d"]`, `"http://h/p", ["search", "a=b c&d='"]`,
			`"http://h/p?x", ["search", ""]`,
			`"http://h/p", ["hash", "a b"]`, `"http://h/p#x", ["hash", ""]`,
			`"http://h/p", ["username", "a:b"], ["password", "c@d"]`, `"mailto:x", ["pathname", "y"]`,
			`"mailto:x", ["host", "y"]`, `"file:///x", ["username", "a"]`, `"http://h/", ["href", "nope"]`,
			`"http://h/", ["href", "https://x/y"]`, `"http://h/", ["origin", "x"]`,
			`"http://h/p", ["pathname", ""]`, `"http://h/p", ["hostname", ""]`, `"http://h/", ["search", "?"]`,
			`"http://h/", ["host", "h:99999"]`),
		"URLSearchParams": {
			`new URLSearchParams("?a=1&b=2&a=3&&=x&y=&%41+b=%zz%C3%BC%ff").toString()`,
			`[...new URLSearchParams("a=%C3%BC&b=%F0%9F%98%80&c=%e2%82")]`,
			`new URLSearchParams({a: "1 2", "ü": "~!'()*-._ &=+"}).toString()`,
			`[...new URLSearchParams([["a", 1], ["a", null]])]`, `new URLSearchParams(new Map([["k", "v"]])).toString()`,
			`thrown(() => new URLSearchParams([["a"]]))`, `thrown(() => new URLSearchParams([1]))`,
			`new URLSearchParams(null).toString()`, `new URLSearchParams(undefined).size`,
			`(() => { const p = new URLSearchParams("a=1&b=2&a=3"); p.append("c", "x y"); p.set("a", "9"); p.delete("b"); ` +
				`return [p.toString(), p.get("a"), p.get("q"), p.getAll("a"), p.has("c"), p.has("c", "z"), p.size, ` +
				`[...p.keys()], [...p.values()]] })()`,
			`(() => { const p = new URLSearchParams("z=1&a=2&z=0&\ufffd=1&😀=2"); p.sort(); return p.toString() })()`,
			`(() => { const p = new URLSearchParams("a=1&a=2&a=1"); p.delete("a", "1"); const seen = []; p.forEach((v, k, ` +
				`o) => seen.push(v, k, o === p)); return seen })()`,
			`(() => { const u = new URL("http://h/?a=b%20~"); const q = u.searchParams; q.append("c", "d e"); const first = ` +
				`u.href; u.search = "?x=1"; const second = [...q]; q.delete("x"); return [first, second, u.href, u.searchParams === q] })()`,
			`(() => { const u = new URL("http://h/?a=1#f"); for (const [k] of u.searchParams) if (u.searchParams.size < 4) ` +
				`u.searchParams.append(k + "x", "1"); return u.href })()`,
			`JSON.stringify({u: new URL("http://h/ x")})`, `String(new URL("http://h"))`,
			`Object.prototype.toString.call(new URL("http://h"))`,
			`[URL.canParse("x"), URL.canParse("x", "http://h"), URL.canParse("http://h")]`, `thrown(() => URL("http://h"))`,
			`thrown(() => new URL())`, `[..."a=1&b".matchAll(/./g)].length, new URLSearchParams("a=\ud800").toString()`,
		},
		"text": {
			`[...new TextEncoder().encode("aé€😀\ud800b")]`, `new TextEncoder().encode().length`, `new TextEncoder().encoding`,
			`(() => { const b = new Uint8Array(5); return [new TextEncoder().encodeInto("é€x", b), [...b]] })()`,
			`(() => { const b = new Uint8Array(4); return [new TextEncoder().encodeInto("é€x", b), [...b]] })()`,
			`new TextDecoder().decode(new Uint8Array([0xef,0xbb,0xbf,0x61,0xc3,0xa9,0xe2,0x82,0xac,0xf0,0x9f,0x98,0x80]))`,
			`new TextDecoder("UTF-8", {ignoreBOM: true}).decode(new Uint8Array([0xef,0xbb,0xbf,0x61])).length`,
			`new TextDecoder().decode(new Uint8Array([0xc0,0xaf,0xe0,0x80,0xaf,0xed,0xa0,0x80,0xf5,0x80,0x61,0xe2,0x82,0x62,0xf0,0x9f,0x98]))`,
			`thrown(() => new TextDecoder("utf8", {fatal: true}).decode(new Uint8Array([0x61, 0xff])))`,
			`thrown(() => new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([0xe2, 0x82])))`,
			`thrown(() => new TextDecoder("no-such"))`,
			`(() => { const d = new TextDecoder(); const b = [0xf0,0x9f,0x98,0x80,0x61]; return b.map((x) => d.decode(new ` +
				`Uint8Array([x]), {stream: true})).join("|") + d.decode() })()`,
			`(() => { const d = new TextDecoder(); return [d.decode(new Uint8Array([0xef,0xbb]), {stream: true}), ` +
				`d.decode(new Uint8Array([0xbf,0x61]), {stream: true}), d.decode(), d.decode(new Uint8Array([0xef,0xbb,0xbf])).length] })()`,
			`new TextDecoder().decode(new DataView(new Uint8Array([1,0x61,0x62,2]).buffer, 1, 2))`,
			`new TextDecoder().decode(new Uint8Array([0x61]).buffer)`, `thrown(() => new TextDecoder().decode("x"))`,
			`new TextDecoder().decode(new TextEncoder().encode("aaé".repeat(3000))) === "aaé".repeat(3000)`,
			`[new TextDecoder("utf8").encoding, new TextDecoder().fatal, new TextDecoder().ignoreBOM]`,
			`["", "a", "ab", "abc", "\u00ff\u0000"].map((s) => [btoa(s), atob(btoa(s)) === s])`, `thrown(() => btoa("€"))`,
			`["YQ", " Y Q = = ", "YWI=", "YWJj", ""].map(atob)`,
			`["Y", "Y===", "YQ=", "Y!==", "YQ==x", "==", "Y=Q="].map((s) => thrown(() => atob(s)))`,
			`(() => { try { atob("!") } catch (e) { return [e.name, e.code, e instanceof DOMException, e instanceof Error] } })()`,
			`btoa(123)`, `atob("AAH/").split("").map((c) => c.charCodeAt(0))`,
		},
		"structuredClone": {
			`structuredClone({a: [1, , 3], d: new Date(5), n: null, u: undefined, s: "x", b: 5n === 5n})`,
			`(() => { const o = {m: new Map([[{k: 1}, new Set([1, "a"])]])}; o.self = o; const c = structuredClone(o); ` +
				`return [c !== o, c.self === c, c.m !== o.m, [...c.m.keys()][0].k, [...[...c.m.values()][0]]] })()`,
			`(() => { const b = new Uint8Array([1,2,3,4]).buffer; const o = {x: new Uint8Array(b, 1, 2), y: new ` +
				`DataView(b), z: new Float64Array([1.5])}; const c = structuredClone(o); return [[...c.x], c.x.byteOffset, ` +
				`c.x.buffer === c.y.buffer, c.x.buffer !== b, c.z[0], c.y.byteLength] })()`,
			`(() => { const e = structuredClone(Object.assign(new RangeError("boom", {cause: {a: 1}}), {extra: 1})); return ` +
				`[e instanceof RangeError, e.name, e.message, e.cause, "extra" in e] })()`,
			`(() => { class Own extends Error { name = "Own" } const e = structuredClone(new Own("x")); return ` +
				`[e.constructor === Error, e.name, e.message] })()`,
			`(() => { const r = structuredClone(/a+/gi); return [r.source, r.flags, r.lastIndex] })()`,
			`(() => { class P { a = 1; get b() { return 2 } } const c = structuredClone(new P()); return [c, c.constructor === Object] })()`,
			`thrown(() => structuredClone(() => 1))`, `thrown(() => structuredClone({f() {}}))`,
			`thrown(() => structuredClone(Symbol("x")))`, `thrown(() => structuredClone(new WeakMap()))`,
			`thrown(() => structuredClone(Promise.resolve()))`, `thrown(() => structuredClone())`,
			`(() => { try { structuredClone(() => 1) } catch (e) { return [e.code, e instanceof DOMException] } })()`,
			`(() => { const b = new ArrayBuffer(8); const c = structuredClone({b}, {transfer: [b]}); return [b.byteLength, c.b.byteLength] })()`,
			`thrown(() => structuredClone(1, {transfer: [{}]}))`,
			`(() => { const b = new ArrayBuffer(8); return thrown(() => structuredClone({b, f() {}}, {transfer: [b]})) + b.byteLength })()`,
			`[typeof structuredClone(Object(1)), structuredClone(Object("a")).length, structuredClone(true), ` +
				`structuredClone(-0) === 0, structuredClone(NaN)]`,
			`Object.keys(structuredClone({[Symbol("s")]: 1, "__proto__x": 2, a: {get b() { return 1 }}}).a)`,
			`structuredClone(Object.create({inherited: 1}, {own: {value: 2, enumerable: true}}))`,
		},
		"abort": {
			`(() => { const c = new AbortController(); const seen = []; c.signal.onabort = (e) => seen.push(e.type, ` +
				`e.target === c.signal); c.signal.addEventListener("abort", {handleEvent: () => seen.push("object")}); ` +
				`c.abort(); c.abort("again"); return [seen, c.signal.aborted, c.signal.reason.name, c.signal.reason.code, ` +
				`thrown(() => c.signal.throwIfAborted())] })()`,
			`(() => { const c = new AbortController(); c.abort("why"); try { c.signal.throwIfAborted() } catch (e) { return e } })()`,
			`[AbortSignal.abort(1).reason, AbortSignal.abort().reason.message, new AbortController().signal.reason]`,
			`new Promise((r) => { const s = AbortSignal.timeout(1); s.onabort = () => r([s.reason.name, s.reason.code, s.reason.message]) })`,
			`(() => { const a = new AbortController(), b = new AbortController(); const any = AbortSignal.any([a.signal, ` +
				`b.signal]); b.abort("b"); a.abort("a"); return [any.aborted, any.reason, ` +
				`AbortSignal.any([AbortSignal.abort("x"), a.signal]).reason, AbortSignal.any([]).aborted] })()`,
			`[thrown(() => new AbortSignal()), thrown(() => AbortSignal.any([1])), thrown(() => AbortController())]`,
			`Object.prototype.toString.call(new AbortController().signal)`,
			`(() => { const t = new EventTarget(), seen = []; const f = (e) => seen.push(e.detail); t.addEventListener("x", ` +
				`f); t.addEventListener("x", f); t.addEventListener("x", () => seen.push("once"), {once: true}); ` +
				`t.dispatchEvent(new CustomEvent("x", {detail: 7})); t.dispatchEvent(new CustomEvent("x")); ` +
				`t.removeEventListener("x", f); t.dispatchEvent(new CustomEvent("x")); return seen })()`,
			`(() => { const t = new EventTarget(); t.addEventListener("x", (e) => { e.preventDefault(); ` +
				`e.stopImmediatePropagation() }); let second = false; t.addEventListener("x", () => { second = true }); const ` +
				`e = new Event("x", {cancelable: true}); return [t.dispatchEvent(e), e.defaultPrevented, second, e.type, ` +
				`e.cancelable, e.bubbles, e.isTrusted, e.target === t, e.currentTarget] })()`,
			`(() => { const t = new EventTarget(), c = new AbortController(); let n = 0; t.addEventListener("x", () => n++, ` +
				`{signal: c.signal}); t.dispatchEvent(new Event("x")); c.abort(); t.dispatchEvent(new Event("x")); return n })()`,
			`(() => { class Bus extends EventTarget {} const b = new Bus(); let got; b.addEventListener("x", function (e) { ` +
				`got = this === b }); b.dispatchEvent(new Event("x")); return got })()`,
			`(() => { const e = new DOMException("m", "NotFoundError"); return [e.name, e.message, e.code, String(e), ` +
				`DOMException.NOT_FOUND_ERR, DOMException.INVALID_CHARACTER_ERR, DOMException.DATA_CLONE_ERR, new ` +
				`DOMException().name, e instanceof Error] })()`,
			`thrown(() => new EventTarget().dispatchEvent({}))`,
		},
		"timers": {
			`new Promise((r) => { let n = 0; const id = setInterval((x) => { if (++n === 3) { clearInterval(id); r([n, x]) } }, 1, "arg") })`,
			`new Promise((r) => { setImmediate((x) => r(x), "now") })`,
			`new Promise((r) => { const id = setTimeout(() => r("no"), 1); clearTimeout(id); const i = setImmediate(() => ` +
				`r("no")); clearImmediate(i); setTimeout(() => r("yes"), 20) })`,
			`new Promise((r) => { const order = []; queueMicrotask(() => order.push("micro")); setTimeout(() => { ` +
				`order.push("timer"); r(order) }, 0); order.push("sync") })`,
			`[typeof setTimeout(() => {}, 0).unref, thrown(() => setInterval("code")), clearTimeout(undefined), clearInterval(null)]`,
		},
		"system": {
			`/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()) && ` +
				`crypto.randomUUID() !== crypto.randomUUID()`,
			`(() => { const a = new Uint8Array(65536); const b = crypto.getRandomValues(a); const used = new Set(a); return ` +
				`[a === b, used.size] })()`,
			`(() => { try { crypto.getRandomValues(new Uint8Array(65537)) } catch (e) { return [e.name, e.code] } })()`,
			`thrown(() => crypto.getRandomValues(new Float32Array(1)))`, `thrown(() => crypto.getRandomValues([1]))`,
			`(() => { const w = crypto.getRandomValues(new Uint32Array(64)); return w.some((x) => x > 65535) && ` +
				`crypto.getRandomValues(new Uint8Array([0, 0, 0, 0].map(() => 0)).subarray(1, 1)).length })()`,
			`[typeof performance.now(), performance.now() <= performance.now(), Math.abs(performance.timeOrigin + ` +
				`performance.now() - Date.now()) < 1000, Object.keys(performance.toJSON()).includes("timeOrigin")]`,
		},
		"fetch's classes": {
			`(() => { const h = new Headers({B: " x ", a: "1"}); h.append("a", "2"); h.append("Set-Cookie", "c=1"); ` +
				`h.append("set-cookie", "d=2"); h.set("b", "y"); return [[...h], h.get("A"), h.get("none"), h.has("B"), ` +
				`h.getSetCookie(), [...h.keys()]] })()`,
			`[thrown(() => new Headers({"a b": "1"})), thrown(() => new Headers([["a"]])), thrown(() => new Headers({a: ` +
				`"x\ny"})), thrown(() => new Headers({a: "€"}))]`,
			`(async () => { const r = new Response("{\"a\":[1]}", {status: 201, statusText: "Made", headers: {X: "y"}}); ` +
				`const c = r.clone(); return [r.ok, r.status, r.statusText, r.headers.get("x"), r.headers.get("content-type"), ` +
				`r.bodyUsed, await r.json(), r.bodyUsed, await later(() => r.text()), await c.text(), r.url, r.type, r.redirected] })()`,
			`(async () => [[...new Uint8Array(await new Response(new Uint8Array([1, 2])).arrayBuffer())], await new ` +
				`Response("\ufeffx").text(), await new Response(null).text(), await new Response(new URLSearchParams({a: "b ` +
				`c"})).text(), await later(() => new Response("x").json())])()`,
			`[thrown(() => new Response("", {status: 99})), thrown(() => new Response("x", {status: 204})), ` +
				`Response.json({a: 1}).headers.get("content-type"), Response.redirect("http://h/x", ` +
				`301).headers.get("location"), Response.error().type, Response.error().status]`,
			`(async () => { const r = new Request("http://h/p#f", {method: "post", body: "x", headers: {a: "b"}}); return ` +
				`[r.method, r.url, r.headers.get("a"), r.headers.get("content-type"), await r.clone().text(), await r.text(), ` +
				`r.bodyUsed, r.redirect, r.signal.aborted] })()`,
			`[thrown(() => new Request("/rel")), thrown(() => new Request("http://h", {body: "x"})), thrown(() => new ` +
				`Request("http://u:p@h")), thrown(() => new Request("http://h", {method: "TRACE"})), thrown(() => new ` +
				`Request("http://h", {method: "a b"})), thrown(() => new Request("http://h", {redirect: "x"})), new ` +
				`Request("http://h", {method: "patch"}).method]`,
			`later(() => fetch("http://h", {signal: AbortSignal.abort("early")}).catch((e) => e))`,
		},
	}
}

// The web globals behave like Node's: every probe has the same value in both.
func TestWebGlobalsBehaveAsInNode(t *testing.T) {
	t.Parallel()
	for name, list := range probes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := make([]string, len(list))
			for i, probe := range list {
				bodies[i] = "async () => (" + probe + ")"
			}
			from := source(extensionstest.Write(t, map[string]string{
				"events.mjs": tried + extensionstest.Handlers(bodies...),
			}), "events.mjs")
			from.HostCapabilities = []string{"net:h"}
			children, err := process.New(t.Context(), process.Options{Dir: filepath.Join(t.TempDir(), "children"),
				Logger: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			var modules []extensions.Module
			for _, host := range []struct {
				extensions.Host
				kind string
			}{{newHost(js.Limits{}), "embedded"}, {children, "node"}} {
				from.Runtime.Host = host.kind
				module, err := host.Load(t.Context(), from)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { extensionstest.Close(t, module) })
				modules = append(modules, module)
			}
			for i, probe := range list {
				got, err := extensionstest.Handle(t, modules[0], i, &extensionstest.Tools{})
				want, err2 := extensionstest.Handle(t, modules[1], i, &extensionstest.Tools{})
				if err2 != nil {
					t.Errorf("%s: Node says %v", probe, err2)
				} else if err != nil || got != want {
					t.Errorf("%s:\n got %s %v\nNode %s", probe, got, err, want)
				}
			}
		})
	}
}
