package console

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// site makes a Console from a build with one script, beside an API that answers every request.
func site(t *testing.T, basePath string) http.Handler {
	t.Helper()
	c, err := read(fstest.MapFS{
		"index.html":         {Data: []byte(`<html><head><script src="assets/app-1.js"></script></head></html>`)},
		"assets/app-1.js":    {Data: []byte("plain")},
		"assets/app-1.js.gz": {Data: []byte("gzipped")},
		"assets/app-1.js.br": {Data: []byte("brotli")},
		"icon.svg":           {Data: []byte("<svg/>")},
	}, []byte("stub"), basePath)
	if err != nil {
		t.Fatal(err)
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "API "+r.URL.Path)
	})
	return Under(basePath, c.Beside(api))
}

func ask(handler http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// A browser gets the page at every address of the console and nowhere in the API; programs get the API's responses.
func TestWhoGetsThePage(t *testing.T) {
	t.Parallel()
	handler := site(t, "")
	for _, target := range []string{"/", "/s/0198c0de", "/sessions", "/inbox", "/jobs?state=failed", "/login", "/apis"} {
		w := ask(handler, http.MethodGet, target, "Accept", browser)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `<head><base href="/"><script src="assets/`) ||
			w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v %s", target, w.Code, w.Header(), w.Body)
		}
		if w := ask(handler, http.MethodGet, target, "Accept", "*/*"); w.Code != http.StatusNotFound {
			t.Errorf("curl gets %d from %s", w.Code, target)
		}
		if w := ask(handler, http.MethodPost, target, "Accept", browser); w.Code != http.StatusNotFound {
			t.Errorf("POST %s: %d", target, w.Code)
		}
	}
	for _, target := range []string{"/api", "/api/nothing", "/v1/x", "/rpc", "/ws", "/mcp", "/metrics", "/healthz", "/readyz",
		"/assets/app-2.js", "/assets/", "/favicon.ico"} {
		accept := browser
		if target == "/favicon.ico" {
			accept = "image/svg+xml,image/*"
		}
		if w := ask(handler, http.MethodGet, target, "Accept", accept); w.Body.String() != "API "+strings.TrimSuffix(target, "?") {
			t.Errorf("%s is not the API's: %d %s", target, w.Code, w.Body)
		}
	}
	if w := ask(handler, http.MethodGet, "/", "Accept", browser, "Upgrade", "websocket"); w.Code != http.StatusNotFound {
		t.Errorf("an upgrade gets the page: %d", w.Code)
	}
	if w := ask(handler, http.MethodHead, "/", "Accept", browser); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d %s", w.Code, w.Body)
	}
}

// The worker in the browser shows a kept page at the addresses of the console alone: others, as that of a link that
// decides, are the server's. CO-27
func TestTheWorkerKnowsThePages(t *testing.T) {
	t.Parallel()
	worker, err := os.ReadFile("web/public/sw.js")
	if err != nil {
		t.Fatal(err)
	}
	app, err := os.ReadFile("web/src/App.tsx")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`const pages = \[(.*)\];`).FindSubmatch(worker)
	if list == nil {
		t.Fatal("sw.js has no list of pages")
	}
	var known, routed []string
	for _, name := range regexp.MustCompile(`"(\w*)"`).FindAllSubmatch(list[1], -1) {
		known = append(known, string(name[1]))
	}
	for _, route := range regexp.MustCompile(`<Route path="/(\w*)`).FindAllSubmatch(app, -1) {
		routed = append(routed, string(route[1]))
	}
	slices.Sort(known)
	slices.Sort(routed)
	if routed = slices.Compact(routed); !slices.Equal(known, routed) {
		t.Errorf("the worker has %q, the page %q", known, routed)
	}
}

// Pages may contact only this server, and other sites may not frame them.
func TestHeadersOfPages(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/", "/assets/app-1.js"} {
		header := ask(site(t, ""), http.MethodGet, target, "Accept", browser).Header()
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'self'"} {
			if !strings.Contains(header.Get("Content-Security-Policy"), part) {
				t.Errorf("%s: the policy %q lacks %s", target, header.Get("Content-Security-Policy"), part)
			}
		}
		if strings.Contains(header.Get("Content-Security-Policy"), "unsafe") ||
			header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", target, header)
		}
	}
}

// Files are sent in the smallest encoding that the browser accepts, and files with a hash in their names are cached
// forever.
func TestFiles(t *testing.T) {
	t.Parallel()
	handler := site(t, "")
	for accepted, want := range map[string]string{"gzip, deflate, br": "brotli", "gzip": "gzipped", "": "plain",
		"br;q=0, gzip;q=0.5": "gzipped", "GZIP": "gzipped", "zstd": "plain"} {
		w := ask(handler, http.MethodGet, "/assets/app-1.js", "Accept-Encoding", accepted)
		if w.Body.String() != want || w.Header().Get("Vary") != "Accept-Encoding" ||
			(w.Header().Get("Content-Encoding") == "") != (want == "plain") ||
			w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" ||
			!strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%q: %v %s", accepted, w.Header(), w.Body)
		}
	}
	w := ask(handler, http.MethodGet, "/icon.svg")
	tag := w.Header().Get("ETag")
	if w.Code != http.StatusOK || tag == "" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("the icon: %d %v", w.Code, w.Header())
	}
	if w := ask(handler, http.MethodGet, "/icon.svg", "If-None-Match", tag); w.Code != http.StatusNotModified {
		t.Errorf("the same icon again: %d", w.Code)
	}
}

// Below a path of its host the server responds with and without the path in front, and all URLs in pages are below it.
func TestBelowAPath(t *testing.T) {
	t.Parallel()
	handler := site(t, "/tools/harness")
	for target, want := range map[string]string{
		"/tools/harness/s/1":             `<base href="/tools/harness/">`,
		"/s/1":                           `<base href="/tools/harness/">`,
		"/tools/harness/assets/app-1.js": "plain",
		"/tools/harness/api/sessions":    "API /api/sessions",
		"/api/sessions":                  "API /api/sessions",
	} {
		if w := ask(handler, http.MethodGet, target, "Accept", browser); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	w := ask(handler, http.MethodGet, "/tools/harness", "Accept", browser)
	if w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "/tools/harness/" {
		t.Errorf("without the slash: %d %v", w.Code, w.Header())
	}
}

// Without a build the page says how to get one; a broken build is an error immediately.
func TestWithoutABuild(t *testing.T) {
	t.Parallel()
	stub, err := dist.ReadFile("dist/stub.html")
	if err != nil {
		t.Fatal(err)
	}
	c, err := read(fstest.MapFS{}, stub, "/x")
	if err != nil || c.Built() {
		t.Fatalf("built: %v, %v", c.Built(), err)
	}
	w := ask(c.Beside(http.NotFoundHandler()), http.MethodGet, "/", "Accept", browser)
	if !strings.Contains(w.Body.String(), "make build") || !strings.Contains(w.Body.String(), `<base href="/x/">`) {
		t.Errorf("the stub is %s", w.Body)
	}
	if _, err := read(fstest.MapFS{"index.html": {}, "assets/a.js.gz": {}}, stub, ""); err == nil {
		t.Error("a file that is only compressed is taken")
	}
	if !bytes.Contains(stub, []byte("<head>")) {
		t.Error("the stub has no head")
	}
}
