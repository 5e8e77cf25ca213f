package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"harness/api/conns"
)

// serveHTTP starts a real server on a free port.
func serveHTTP(t *testing.T, b *harnessBundle) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(b.handler)
	limiter := conns.NewLimiter(conns.Options{})
	server.Listener, server.Config = limiter.Listener(server.Listener), limiter.Server(b.handler)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func call(t *testing.T, method, url, contentType string, body io.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func TestHTTPLayer(t *testing.T) {
	t.Parallel()
	server := serveHTTP(t, setup(t))

	t.Run("HEAD has the length of GET and no body", func(t *testing.T) {
		get, body := call(t, http.MethodGet, server.URL+"/api", "", nil)
		head, empty := call(t, http.MethodHead, server.URL+"/api", "", nil)
		if head.StatusCode != http.StatusOK || empty != "" || head.ContentLength != int64(len(body)) ||
			head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("HEAD: %d, %q, length %d, want the headers of a GET with %d bytes", head.StatusCode, empty,
				head.ContentLength, len(body))
		}
	})
	t.Run("a method no route has is an unknown route", func(t *testing.T) {
		response, body := call(t, http.MethodPatch, server.URL+"/api/sessions/x?a=1", "", nil)
		if response.StatusCode != http.StatusNotFound ||
			body != `{"message":"Route PATCH:/api/sessions/x?a=1 not found","error":"Not Found","statusCode":404}` {
			t.Errorf("got %d %s", response.StatusCode, body)
		}
	})
	const tooLarge = `{"status":"error","code":"request_failed","message":"Request body is too large"}`
	t.Run("a body over 1 MiB is refused and the connection closed", func(t *testing.T) {
		body := `{"name":"` + strings.Repeat("y", 1<<20) + `"}`
		response, text := call(t, http.MethodPost, server.URL+"/api/projects", "application/json", strings.NewReader(body))
		if response.StatusCode != http.StatusRequestEntityTooLarge || text != tooLarge || !response.Close {
			t.Errorf("got %d %s, close %v", response.StatusCode, text, response.Close)
		}
	})
	t.Run("so is one of unknown length", func(t *testing.T) {
		body := io.MultiReader(strings.NewReader(`{"name":"`), strings.NewReader(strings.Repeat("y", 1<<20)),
			strings.NewReader(`"}`))
		response, text := call(t, http.MethodPost, server.URL+"/api/projects", "application/json", body)
		if response.StatusCode != http.StatusRequestEntityTooLarge || text != tooLarge || !response.Close {
			t.Errorf("got %d %s, close %v", response.StatusCode, text, response.Close)
		}
	})
	t.Run("exactly 1 MiB is read", func(t *testing.T) {
		head, tail := `{"name":"","pad":"`, `"}`
		body := head + strings.Repeat("y", 1<<20-len(head)-len(tail)) + tail
		response, text := call(t, http.MethodPost, server.URL+"/api/projects", "application/json", strings.NewReader(body))
		if response.StatusCode != http.StatusBadRequest || !strings.Contains(text, "too_small") {
			t.Errorf("got %d %s", response.StatusCode, text)
		}
	})
	t.Run("another media type is refused by its name", func(t *testing.T) {
		response, text := call(t, http.MethodPost, server.URL+"/api/projects", "application/xml", strings.NewReader("<a/>"))
		if response.StatusCode != http.StatusUnsupportedMediaType ||
			!strings.Contains(text, "Unsupported Media Type: application/xml") ||
			!strings.HasPrefix(response.Header.Get("Accept"), "application/json") {
			t.Errorf("got %d %s", response.StatusCode, text)
		}
	})
	t.Run("a plain GET of the stream is an empty 404", func(t *testing.T) {
		response, text := call(t, http.MethodGet, server.URL+"/api/stream?threadId=x", "", nil)
		if response.StatusCode != http.StatusNotFound || text != "" || response.ContentLength != 0 {
			t.Errorf("got %d %q", response.StatusCode, text)
		}
	})
}

// TestBadURL: net/http refuses broken escapes itself. The listener rewrites the refusal, on a new and on a reused
// connection.
func TestBadURL(t *testing.T) {
	t.Parallel()
	server := serveHTTP(t, setup(t))
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	ask := func(parts ...string) (*http.Response, string) {
		t.Helper()
		for _, part := range parts {
			if _, err := io.WriteString(conn, part); err != nil {
				t.Fatal(err)
			}
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	if response, body := ask("GET /api/%68ealth HTTP/1.1\r\nHost: x\r\n\r\n"); response.StatusCode != http.StatusOK ||
		!strings.Contains(body, `"service":"api"`) {
		t.Fatalf("a needless escape: got %d %s", response.StatusCode, body)
	}
	// A body is not a request, regardless of its content.
	const lookalike = "GET /%zz HTTP/1.1\r\n\r\n"
	head := fmt.Sprintf("POST /api/projects HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n",
		len(lookalike))
	if response, body := ask(head, lookalike); response.StatusCode != http.StatusBadRequest ||
		!strings.Contains(body, "invalid_request") {
		t.Fatalf("a body that looks like a broken request: got %d %s", response.StatusCode, body)
	}
	response, body := ask("GET /api/sess", "ions/%zz HTTP/1.1\r\nHost: x\r\n\r\n")
	want := `{"error":"Bad Request","code":"FST_ERR_BAD_URL","message":"'/api/sessions/%zz' is not a valid url component","statusCode":400}`
	if response.StatusCode != http.StatusBadRequest || body != want ||
		response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s", response.StatusCode, body)
	}
}

// Invalid UTF-8 is a valid URL, so it reaches the handler. JavaScript's decodeURI refuses it.
func TestBadURLText(t *testing.T) {
	t.Parallel()
	got := setup(t).send(http.MethodGet, "/api/sessions/%ff", "", "")
	expect(t, got, http.StatusBadRequest,
		`{"error":"Bad Request","code":"FST_ERR_BAD_URL","message":"'/api/sessions/%ff' is not a valid url component","statusCode":400}`)
}

// A websocket handler gets the TCP connection itself, not the listener's wrapper, and the request is still logged.
func TestHijack(t *testing.T) {
	t.Parallel()
	hijacked := make(chan net.Conn, 1)
	b := setup(t, func(o *parts) {
		o.Stream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Errorf("hijack: %v", err)
				close(hijacked)
				return
			}
			hijacked <- conn
			_ = conn.Close()
		})
	})
	server := serveHTTP(t, b)
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+"/api/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Connection", "Upgrade")
	if response, err := http.DefaultClient.Do(r); err == nil {
		_ = response.Body.Close()
		t.Fatalf("got %d from a hijacked connection", response.StatusCode)
	}
	if conn := <-hijacked; conn == nil {
		t.Fatal("no connection")
	} else if _, isTCP := conn.(*net.TCPConn); !isTCP {
		t.Errorf("got a %T", conn)
	}
}
