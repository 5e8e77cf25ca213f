package js_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/js"
	"harness/tests/extensionstest"
)

// fetching loads an extension with declarations and one handler per body.
func fetching(t *testing.T, options js.Options, declared []string, bodies ...string) extensions.Module {
	t.Helper()
	from := source(extensionstest.Write(t, map[string]string{"events.mjs": extensionstest.Handlers(bodies...)}),
		"events.mjs")
	from.HostCapabilities = declared
	options.Logger = zerolog.Nop()
	module, err := js.New(options).Load(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { extensionstest.Close(t, module) })
	return module
}

// site serves the requests of the fetch tests.
func site(t *testing.T) (server *httptest.Server, gone chan struct{}) {
	t.Helper()
	gone = make(chan struct{}, 1000)
	arrived := make(chan struct{}, 1000)
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Seen", r.Method+" "+r.Header.Get("X-Own")+" "+r.Header.Get("Content-Type")+" "+
			r.Header.Get("User-Agent")+" "+r.Header.Get("Cookie")+r.Header.Get("Authorization"))
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0, 0xfe}) })
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5<<20)) })
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(make([]byte, 8<<20))
		_ = z.Close()
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusFound)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	// It responds once a request waits at /slow.
	mux.HandleFunc("/arrived", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-arrived:
		case <-r.Context().Done():
		}
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, gone
}

func TestFetchWithinItsDeclaration(t *testing.T) {
	// The proxy settings in the server's environment do not apply to the extension.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	server, _ := site(t)
	other, _ := site(t)
	address := strings.TrimPrefix(server.URL, "http://")
	get := func(path, rest string) string {
		return `async () => { const r = await fetch("` + server.URL + path + `"` + rest + `); return `
	}
	const caught = `.catch((e) => [e.name, e.message])`
	cases := []struct{ body, want string }{
		{get("/echo", `, {method: "POST", body: "hé\u0000llo", headers: {"X-Own": "x", "Host": "evil", "Proxy-Authorization": "p"}}`) +
			`[r.status, r.ok, r.statusText, await r.text(), r.headers.get("x-seen"), r.headers.getSetCookie(), r.redirected] }`,
			`[201,true,"Created","hé\u0000llo","POST x text/plain;charset=UTF-8 harness-extension",["a=1","b=2"],false]`},
		{get("/echo", `, {method: "PUT", body: new Uint8Array([255, 1])}`) + `[...new Uint8Array(await r.arrayBuffer())] }`,
			`[255,1]`},
		{get("/echo", `, {method: "POST", body: new URLSearchParams({a: "b c"})}`) + `await r.text() }`, `"a=b+c"`},
		{get("/echo", `, {method: "POST", body: JSON.stringify({a: [1]})}`) + `(await r.json()).a }`, `[1]`},
		{get("/bytes", "") + `[...(await r.bytes()), r.url] }`, `[255,0,254,"` + server.URL + `/bytes"]`},
		{get("/to?url=/echo", `, {method: "POST", body: "again"}`) + `[r.redirected, r.url, await r.text()] }`,
			`[true,"` + server.URL + `/echo","again"]`},
		{get("/to?url=/echo", `, {redirect: "manual"}`) + `[r.status, r.headers.get("location")] }`, `[307,"/echo"]`},
		{`() => fetch("` + server.URL + `/to?url=/echo", {redirect: "error"})` + caught,
			`["TypeError","fetch failed: unexpected redirect"]`},
		{`() => fetch("` + server.URL + `/loop")` + caught, `["TypeError","fetch failed: more than 10 redirects"]`},
		{`() => fetch("` + server.URL + `/big")` + caught,
			`["TypeError","fetch failed: the answer is longer than 4194304 bytes"]`},
		{`() => fetch("` + server.URL + `/bomb")` + caught,
			`["TypeError","fetch failed: the answer is longer than 4194304 bytes"]`},
		{`() => fetch("` + other.URL + `/echo")` + caught,
			`["TypeError","fetch failed: the host is not declared: add \"net:` + strings.TrimPrefix(other.URL, "http://") +
				`\" to capabilities.host in the manifest"]`},
		{`() => fetch("` + server.URL + `/to?url=` + other.URL + `")` + caught,
			`["TypeError","fetch failed: the host is not declared: add \"net:` + strings.TrimPrefix(other.URL, "http://") +
				`\" to capabilities.host in the manifest"]`},
		{`() => fetch("file:///etc/passwd")` + caught, `["TypeError","fetch failed: unsupported protocol scheme \"file\""]`},
		{get("/echo", `, {method: "POST", body: "x"}`) +
			`(() => { try { return r.body } catch (e) { return e.message.includes("use text()") } })() }`, `true`},
	}
	bodies := make([]string, len(cases))
	for i, c := range cases {
		bodies[i] = c.body
	}
	module := fetching(t, js.Options{}, []string{"fs.read:.", "net:" + address}, bodies...)
	for i, c := range cases {
		if got, err := extensionstest.Handle(t, module, i, &extensionstest.Tools{}); err != nil || got != c.want {
			t.Errorf("%s:\n got %s %v\nwant %s", c.body, got, err, c.want)
		}
	}
}

// Without a declaration, fetch exists and its error names the remedy. An invalid host is refused at load.
func TestFetchWithoutADeclaration(t *testing.T) {
	t.Parallel()
	module := fetching(t, js.Options{}, nil, `() => fetch("http://example.com/")`, `() => typeof fetch`)
	if got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err == nil ||
		!strings.Contains(err.Error(), `"net:api.example.com"`) {
		t.Errorf("fetched %s, %v", got, err)
	}
	missing := module.(extensions.Inspected).Missing()
	if len(missing) != 1 || missing[0].Name != "fetch" || !strings.HasPrefix(missing[0].String(), "events.mjs:2:") {
		t.Errorf("missing: %v", missing)
	}
	for _, wrong := range []string{"net:", "net:http://x", "net:a/b", "net:a b", "net:x:y", "net:a*", "net:u@h",
		"net:**"} {
		from := source(extensionstest.Write(t, map[string]string{"events.mjs": extensionstest.Handlers(`() => 1`)}),
			"events.mjs")
		from.HostCapabilities = []string{wrong}
		_, err := js.New(js.Options{Logger: zerolog.Nop()}).Load(t.Context(), from)
		var load *extensions.LoadError
		if !errors.As(err, &load) || load.Code != extensions.InvalidManifest ||
			!strings.Contains(load.Message, "names no host") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// No declaration, name or redirect reaches this server, this machine without its port, or a service that hands
// credentials to local callers.
func TestFetchStaysAwayFromWhatTrustsThisMachine(t *testing.T) {
	t.Parallel()
	own, _ := site(t)
	friend, _ := site(t)
	port := func(s *httptest.Server) string {
		return s.Listener.Addr().(*net.TCPAddr).AddrPort().String()[len("127.0.0.1:"):]
	}
	options := js.Options{Own: func() string { return "127.0.0.1:" + port(own) }}
	for _, c := range []struct {
		declared, url, want string
	}{
		{"net:127.0.0.1:" + port(own), own.URL + "/echo", "is this server itself"},
		{"net:localhost:" + port(own), "http://localhost:" + port(own) + "/echo", "is this server itself"},
		{"net:localhost:" + port(own), "http://LOCALHOST:" + port(own) + "/echo", "is this server itself"},
		{"net:[::ffff:127.0.0.1]:" + port(own), "http://[::ffff:127.0.0.1]:" + port(own) + "/echo", "is this server itself"},
		{"net:0.0.0.0:" + port(own), "http://0.0.0.0:" + port(own) + "/echo", "is this server itself"},
		{"net:127.0.0.1:" + port(friend), friend.URL + "/to?url=" + own.URL, "is not declared"},
		{"net:*:" + port(friend), friend.URL + "/echo", "is this machine: declare it with its port"},
		{"net:localhost", "http://localhost/", "is this machine: declare it with its port"},
		{"net:*", "http://169.254.169.254/latest/meta-data/", "link-local"},
		{"net:169.254.169.254:80", "http://169.254.169.254/latest/meta-data/", "link-local"},
		{"net:[fe80::1]:80", "http://[fe80::1]/", "link-local"},
		{"net:[fd00:ec2::254]:80", "http://[fd00:ec2::254]/", "link-local"},
		{"net:*", "http://10.0.0.1/", "private network"},
		{"net:*", "http://[64:ff9b::808:808]/", "private network"},
		{"net:*", "http://[64:ff9b::a9fe:a9fe]/", "link-local"},
		{"net:168.63.129.16:80", "http://168.63.129.16/", "a service of a cloud"},
		{"net:*", "http://example.com:8080/", "is not declared"},
		{"net:*.example.com", "http://example.com/", "is not declared"},
		{"net:example.com", "http://example.com.evil/", "is not declared"},
		{"net:*.example.com", "http://evilexample.com/", "is not declared"},
		{"net:127.0.0.1:" + port(friend), friend.URL + "/echo", ""},
		{"net:localhost:" + port(friend), "http://localhost:" + port(friend) + "/echo", ""},
	} {
		module := fetching(t, options, []string{c.declared}, `() => fetch("`+c.url+`").then((r) => r.status)`)
		got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{})
		if c.want == "" && (err != nil || got != "201") || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, declared %s: %s %v, want %q", c.url, c.declared, got, err, c.want)
		}
	}
}

// A fetch ends with its signal and with its handler, including the network request.
func TestFetchEndsWithItsSignalAndItsHandler(t *testing.T) {
	t.Parallel()
	server, gone := site(t)
	slow, arrived := `"`+server.URL+`/slow"`, `await fetch("`+server.URL+`/arrived");`
	module := fetching(t, js.Options{}, []string{"net:" + strings.TrimPrefix(server.URL, "http://")},
		`async () => { const c = new AbortController(); const f = fetch(`+slow+`, {signal: c.signal}).catch((e) => e); `+
			arrived+` c.abort("enough"); return f }`, `async (event, tools) => { const f = fetch(`+slow+
			`).catch(() => {}); `+arrived+
			` tools.logger.info("arrived"); await f }`,
		`() => fetch(`+slow+`, {signal: AbortSignal.timeout(20)}).catch((e) => e.name)`,
		`() => Promise.all(Array.from({length: 300}, () => fetch(`+slow+
			`, {signal: AbortSignal.timeout(20)}).catch((e) => e.message))).then((all) => all.filter((m) => m.includes("256 `+
			`tool calls wait")).length)`,
		`() => "fine"`)
	ended := func() {
		t.Helper()
		select {
		case <-gone:
		case <-time.After(30 * time.Second):
			t.Fatal("the request goes on")
		}
	}
	if got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err != nil || got != `"enough"` {
		t.Errorf("aborted: %s, %v", got, err)
	}
	ended()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	with := &extensionstest.Tools{}
	out := make(chan error, 1)
	go func() {
		_, err := module.Handle(ctx, 1, extensionstest.Event(`{}`), with)
		out <- err
	}()
	extensionstest.WaitFor(t, "the request", func() bool { return len(with.Logged()) == 1 })
	cancel()
	if err := <-out; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler: %v", err)
	}
	ended()
	if got, err := extensionstest.Handle(t, module, 2, &extensionstest.Tools{}); err != nil || got != `"TimeoutError"` {
		t.Errorf("timed out: %s, %v", got, err)
	}
	if got, err := extensionstest.Handle(t, module, 3, &extensionstest.Tools{}); err != nil || got != "44" {
		t.Errorf("300 fetches: %s, %v", got, err)
	}
	extensionstest.Answers(t, module, 4)
}
