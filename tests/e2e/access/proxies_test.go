package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"harness/tests/programtest"
)

// spoken sends a request with exactly these bytes, because no client omits the Host, and returns its response.
func spoken(t *testing.T, server *programtest.Server, lines ...string) (status int, body string, header http.Header) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(server.URL, "http://"), programtest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // the response has been read
	if err := conn.SetDeadline(time.Now().Add(programtest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "%s\r\nConnection: close\r\n\r\n", strings.Join(lines, "\r\n")); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content), answer.Header
}

// Load balancers send no Host (HTTP/1.0), an empty one or any other, and need no token. No other route accepts that.
func TestProbesOnAnyHost(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex", "HARNESS_AUTH_TOKEN=the-token-of-this-very-test")).Start()
	for _, host := range [][]string{{"HTTP/1.0"}, {"HTTP/1.1", "Host:"}, {"HTTP/1.1", "Host: 10.1.2.3:80"},
		{"HTTP/1.1", "Host: balancer.example"}} {
		ask := func(path string) (int, string) {
			status, body, _ := spoken(t, server, append([]string{"GET " + path + " " + host[0]}, host[1:]...)...)
			return status, body
		}
		if status, body := ask("/healthz"); status != http.StatusOK || body != `{"status":"alive"}` {
			t.Errorf("%q: /healthz is answered %d %s", host, status, body)
		}
		// This server has no runtime.
		if status, body := ask("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"runtimes"`) {
			t.Errorf("%q: /readyz is answered %d %s", host, status, body)
		}
		for _, path := range []string{"/", "/metrics", "/api/sessions", "/v1/health", "/api/health", "/api/ready"} {
			if status, body := ask(path); status != http.StatusForbidden || !strings.Contains(body, "forbidden_host") {
				t.Errorf("%q: %s is answered %d %s", host, path, status, body)
			}
		}
	}
	server.Stop()
}

// Behind a TLS-terminating proxy, a page of the server logs in and writes, in any of the proxy header formats. Its
// cookie is Secure. With an https address of the server it is always Secure, regardless of headers.
func TestAPageBehindAProxyThatEndsTLS(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-this-very-test"
	env := []string{"CODEX_BIN=/nowhere/codex", "HARNESS_AUTH_TOKEN=" + token, "HARNESS_ALLOWED_HOSTS=agents.example"}
	behind := programtest.New(t, programtest.WithEnv(append(env, "HARNESS_TRUSTED_PROXIES=127.0.0.1")...)).Start()
	public := programtest.New(t, programtest.WithEnv(append(env, "HARNESS_PUBLIC_URL=https://agents.example")...)).Start()
	login := func(server *programtest.Server, headers ...string) (int, string) {
		body := `{"token":"` + token + `"}`
		status, _, header := spoken(t, server, append(headers, "Content-Type: application/json",
			fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body))...)
		return status, header.Get("Set-Cookie")
	}
	begin := []string{"POST /api/login HTTP/1.1", "Host: agents.example"}
	page := append(begin[:2:2], "Origin: https://agents.example")
	for _, c := range []struct {
		server  *programtest.Server
		headers []string
		status  int
		secure  bool
	}{
		{behind, append(page[:3:3], "X-Forwarded-Proto: https, http"), 200, true},
		{behind, append(page[:3:3], "X-Forwarded-Proto: https", "X-Forwarded-Proto: http"), 200, true},
		{behind, append(page[:3:3], `Forwarded: for=192.0.2.1;proto="https", for=10.0.0.1;proto=http`), 200, true},
		{behind, append(page[:3:3], "Forwarded: proto=http, proto=https"), 403, false},
		{behind, append(begin[:2:2], "X-Forwarded-Proto: http, https"), 200, false},
		{public, append(begin[:2:2], "X-Forwarded-Proto: http"), 200, true},
		{public, begin, 200, true},
	} {
		status, cookie := login(c.server, c.headers...)
		if status != c.status || (cookie != "") != (status == 200) || strings.Contains(cookie, "Secure") != c.secure {
			t.Errorf("%q: %d %q", c.headers, status, cookie)
		}
	}
	behind.Stop()
	public.Stop()
}
