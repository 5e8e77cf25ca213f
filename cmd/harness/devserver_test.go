package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// browser is a page of an origin that talks to address. It returns what a write is answered and how the stream's
// handshake ends.
func (i *instance) browser(address, origin string) (write *http.Response, stream int) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/api/projects",
		strings.NewReader(`{"name":"p"}`))
	if err != nil {
		i.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", origin)
	write, err = i.client().Do(request)
	if err != nil {
		i.t.Fatal(err)
	}
	if err := write.Body.Close(); err != nil {
		i.t.Fatal(err)
	}
	ws, response, err := websocket.Dial(ctx, address+"/api/stream",
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}, HTTPClient: i.client()})
	if response == nil {
		i.t.Fatal(err)
	}
	if err == nil {
		if _, ready, err := ws.Read(ctx); err != nil || !strings.Contains(string(ready), `"ready"`) {
			i.t.Errorf("the stream began with %s, %v", ready, err)
		}
		_ = ws.CloseNow()
	}
	return write, response.StatusCode
}

// devServer is the dev server of codex-manager's web UI as its settings make it: /api and the stream are passed on,
// under the server's own name (changeOrigin) or under that which the browser uses.
func (i *instance) devServer(changeOrigin bool) string {
	i.t.Helper()
	target, err := url.Parse(i.url)
	if err != nil {
		i.t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if !changeOrigin {
			r.Out.Host = "localhost:5173"
		}
	}})
	i.t.Cleanup(proxy.Close)
	return proxy.URL
}

// The documented setup of codex-manager's web UI works: its dev server in front of this one, and a page of its that
// speaks to this one itself. No other page does, and nobody when the operator says so.
func TestTheWebUIsDevServer(t *testing.T) {
	t.Parallel()
	open := newSite(t).start()
	off := newSite(t).start("HARNESS_ALLOWED_ORIGINS=")
	elsewhere := newSite(t).start("HOST=0.0.0.0", "HARNESS_INSECURE_NO_AUTH=true")
	for _, c := range []struct {
		server          *instance
		address, origin string
		allowed         bool
	}{
		{open, open.url, "http://127.0.0.1:5173", true},
		{open, open.url, "http://localhost:5173", true},
		{open, open.devServer(true), "http://127.0.0.1:5173", true},
		{open, open.devServer(true), "http://localhost:5173", true},
		{open, open.devServer(false), "http://localhost:5173", true},
		{open, open.url, "http://localhost:5174", false},
		{open, open.url, "http://localhost", false},
		{open, open.url, "https://localhost:5173", false},
		{open, open.url, "http://[::1]:5173", false},
		{open, open.devServer(true), "http://127.0.0.1:3000", false},
		{off, off.url, "http://127.0.0.1:5173", false},
		{off, off.devServer(true), "http://localhost:5173", false},
		{elsewhere, elsewhere.url, "http://localhost:5173", false},
	} {
		write, stream := c.server.browser(c.address, c.origin)
		refused := write.StatusCode == http.StatusForbidden && stream == http.StatusForbidden
		taken := write.StatusCode != http.StatusForbidden && stream == http.StatusSwitchingProtocols
		if readable := write.Header.Get("Access-Control-Allow-Origin"); taken != c.allowed || refused == c.allowed ||
			(readable == c.origin) != c.allowed {
			t.Errorf("a page of %s at %s: write %d (may read: %q), stream %d", c.origin, c.address, write.StatusCode,
				readable, stream)
		}
	}

	preflight := map[string]string{"Origin": "http://localhost:5173", "Access-Control-Request-Method": "DELETE"}
	if status, body := open.ask(http.MethodOptions, "/api/sessions/x", preflight); status != http.StatusNoContent ||
		body != "" {
		t.Errorf("preflight: %d %s", status, body)
	}
	preflight["Origin"] = "http://localhost:5174"
	if status, body := open.ask(http.MethodOptions, "/api/sessions/x", preflight); status != http.StatusNotFound ||
		!strings.Contains(body, "Route OPTIONS:") {
		t.Errorf("another page's preflight: %d %s", status, body)
	}
	for _, server := range []*instance{open, off, elsewhere} {
		server.stop()
	}
}
