package clients

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"harness/tests/programtest"
)

// browser acts as a page of an origin that uses address. It returns the status of a write and of the stream's
// handshake.
func browser(i *programtest.Server, address, origin string) (write *http.Response, stream int) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/api/projects",
		strings.NewReader(`{"name":"p"}`))
	if err != nil {
		i.T.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", origin)
	write, err = i.Client().Do(request)
	if err != nil {
		i.T.Fatal(err)
	}
	if err := write.Body.Close(); err != nil {
		i.T.Fatal(err)
	}
	ws, response, err := websocket.Dial(ctx, address+"/api/stream",
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}, HTTPClient: i.Client()})
	if response == nil {
		i.T.Fatal(err)
	}
	if err == nil {
		if _, ready, err := ws.Read(ctx); err != nil || !strings.Contains(string(ready), `"ready"`) {
			i.T.Errorf("the stream began with %s, %v", ready, err)
		}
		_ = ws.CloseNow()
	}
	return write, response.StatusCode
}

// devServer acts as the dev server of codex-manager's web UI with its settings. It forwards /api and the stream under
// the server's name (changeOrigin) or the name that the browser uses.
func devServer(i *programtest.Server, changeOrigin bool) string {
	i.T.Helper()
	target, err := url.Parse(i.URL)
	if err != nil {
		i.T.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if !changeOrigin {
			r.Out.Host = "localhost:5173"
		}
	}})
	i.T.Cleanup(proxy.Close)
	return proxy.URL
}

// webUIOrigins is the setting on the compatibility page for codex-manager's web UI.
const webUIOrigins = "HARNESS_ALLOWED_ORIGINS=http://127.0.0.1:5173,http://localhost:5173"

// With the setting for codex-manager's web UI, its documented setup works: its dev server in front of this one, and a
// page of it that calls this server directly. No other page works. Without the setting, no page of port 5173 works:
// otherwise a page of any dev server would, even of one that an agent started.
func TestTheWebUIsDevServer(t *testing.T) {
	t.Parallel()
	open := programtest.New(t).Start(webUIOrigins)
	off := programtest.New(t).Start()
	elsewhere := programtest.New(t).Start("HOST=0.0.0.0", "HARNESS_INSECURE_NO_AUTH=true")
	for _, c := range []struct {
		server          *programtest.Server
		address, origin string
		allowed         bool
	}{
		{open, open.URL, "http://127.0.0.1:5173", true},
		{open, open.URL, "http://localhost:5173", true},
		{open, devServer(open, true), "http://127.0.0.1:5173", true},
		{open, devServer(open, true), "http://localhost:5173", true},
		{open, devServer(open, false), "http://localhost:5173", true},
		{open, open.URL, open.URL, true}, // its own pages
		{open, open.URL, "http://localhost:5174", false},
		{open, open.URL, "http://localhost", false},
		{open, open.URL, "https://localhost:5173", false},
		{open, open.URL, "http://[::1]:5173", false},
		{open, devServer(open, true), "http://127.0.0.1:3000", false},
		{off, off.URL, off.URL, true},
		{off, off.URL, "http://127.0.0.1:5173", false},
		{off, off.URL, "http://localhost:5173", false},
		{off, devServer(off, true), "http://localhost:5173", false},
		{elsewhere, elsewhere.URL, "http://localhost:5173", false},
	} {
		write, stream := browser(c.server, c.address, c.origin)
		refused := write.StatusCode == http.StatusForbidden && stream == http.StatusForbidden
		taken := write.StatusCode != http.StatusForbidden && stream == http.StatusSwitchingProtocols
		readable := write.Header.Get("Access-Control-Allow-Origin") == c.origin
		if taken != c.allowed || refused == c.allowed || readable != (c.allowed && c.origin != c.server.URL) {
			t.Errorf("a page of %s at %s: write %d (may read: %v), stream %d", c.origin, c.address, write.StatusCode,
				readable, stream)
		}
	}
	for _, path := range []string{"/api/sessions", "/v1/sessions", "/rpc"} {
		status, body := off.Ask(http.MethodPost, path, map[string]string{"Origin": "http://localhost:5173"})
		if status != http.StatusForbidden || !strings.Contains(body, `"code":"forbidden_origin"`) ||
			!strings.Contains(body, `\"http://localhost:5173\"`) || !strings.Contains(body, "HARNESS_ALLOWED_ORIGINS") {
			t.Errorf("a page of port 5173 at %s is answered %d %s", path, status, body)
		}
	}

	preflight := map[string]string{"Origin": "http://localhost:5173", "Access-Control-Request-Method": "DELETE"}
	if status, body := open.Ask(http.MethodOptions, "/api/sessions/x", preflight); status != http.StatusNoContent ||
		body != "" {
		t.Errorf("preflight: %d %s", status, body)
	}
	preflight["Origin"] = "http://localhost:5174"
	if status, body := open.Ask(http.MethodOptions, "/api/sessions/x", preflight); status != http.StatusNotFound ||
		!strings.Contains(body, "Route OPTIONS:") {
		t.Errorf("another page's preflight: %d %s", status, body)
	}
	for _, server := range []*programtest.Server{open, off, elsewhere} {
		server.Stop()
	}
}
