// Package console serves the web console: the pages that people open in a browser.
//
// It owns which requests are for a page, and the headers of pages. It must never know the content of the pages, and
// never call the server: the pages do that themselves, over the API, like any client. Its files are built from the
// folder web and embedded; a program built without them says how to get them.
package console

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"strings"
)

// dist contains the stub, and in app the files that `make build` made from web.
//
//go:embed all:dist
var dist embed.FS

// policy limits what pages may do: they may contact only this server. Radix-like libraries and the virtual list set
// styles of elements from scripts, which does not need 'unsafe-inline'.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

// Console holds the files of one build.
type Console struct {
	page  []byte
	files map[string]file
	built bool
}

// New reads the embedded files. basePath is the path under which a proxy publishes the server, "" for the root of its
// host.
func New(basePath string) (*Console, error) {
	app, err := fs.Sub(dist, "dist/app")
	if err != nil {
		return nil, fmt.Errorf("the console's files: %w", err)
	}
	stub, err := fs.ReadFile(dist, "dist/stub.html")
	if err != nil {
		return nil, fmt.Errorf("the console's stub: %w", err)
	}
	return read(app, stub, basePath)
}

// Built reports whether the program contains the console, and not only its stub.
func (c *Console) Built() bool { return c.built }

// read makes a Console from a folder; without an index.html in it the stub is the page.
func read(app fs.FS, stub []byte, basePath string) (*Console, error) {
	c := &Console{page: stub, files: map[string]file{}}
	if page, err := fs.ReadFile(app, "index.html"); err == nil {
		c.page, c.built = page, true
		if c.files, err = readFiles(app); err != nil {
			return nil, err
		}
	}
	// All URLs in a page are relative to this, regardless of the address by which the page was opened.
	base := fmt.Sprintf(`<head><base href="%s/">`, html.EscapeString(basePath))
	if bytes.Contains(c.page, []byte("<head>")) {
		c.page = bytes.Replace(c.page, []byte("<head>"), []byte(base), 1)
	}
	return c, nil
}

// Serves reports whether a request is for the console: for one of its files, or from a browser for a page outside the
// API.
func (c *Console) Serves(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" {
		return false
	}
	if _, is := c.files[r.URL.Path]; is {
		return true
	}
	return !ofAPI(r.URL.Path) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// ofAPI reports whether a path belongs to the API, even if nothing exists there.
func ofAPI(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "agui", "api", "v1", "rpc", "ws", "mcp", "metrics", "healthz", "readyz", "assets":
		return true
	}
	return false
}

// Beside serves the console; next serves all other requests.
func (c *Console) Beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Serves(r) {
			next.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		if asset, is := c.files[r.URL.Path]; is {
			asset.serve(w, r)
			return
		}
		header.Set("Cache-Control", "no-cache")
		write(w, r, "text/html; charset=utf-8", c.page)
	})
}
