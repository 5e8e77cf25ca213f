package api_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"harness/internal/services/session"
	"harness/transcript"
)

// longTranscript returns messages of realistic length: 5,000 of them are about 0.9 MB. The text comes from this
// repository's documents, which are longer in total than the gzip window.
func longTranscript(t testing.TB, n int) []transcript.Entry {
	t.Helper()
	var said []byte
	for _, page := range []string{"api", "compatibility", "extensions", "operations", "performance", "stream"} {
		text, err := os.ReadFile("../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, text...)
	}
	random := rand.New(rand.NewPCG(1, 2))
	entries := make([]transcript.Entry, n)
	for i := range entries {
		at, from := int64(1795224552123+i*1000), random.IntN(len(said)-60)
		entries[i] = transcript.Entry{MessageID: fmt.Sprintf("msg_%08x", random.Uint32()),
			TurnID: fmt.Sprintf("01a1fbb7-e748-7863-a3f3-%012d", i/8), Role: "assistant", Type: "agentMessage",
			Content: strings.ToValidUTF8(string(said[from:from+random.IntN(60)]), ""),
			Status:  transcript.Complete, StartedAt: &at}
	}
	return entries
}

func longSession(t testing.TB, n int) *harnessBundle {
	b := setup(t)
	b.sessions.next.session = session.Session{ID: knownID}
	b.sessions.next.version = "v1"
	b.sessions.next.transcript = longTranscript(t, n)
	return b
}

func unzipped(t *testing.T, body io.Reader) string {
	t.Helper()
	reader, err := gzip.NewReader(body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Compression depends on the size and on the encodings that the client accepts.
func TestGzipNegotiation(t *testing.T) {
	t.Parallel()
	large, small := longSession(t, 20), longSession(t, 0)
	for accepted, want := range map[string]struct{ large, small bool }{
		"": {}, "identity": {}, "br": {}, "deflate, br, zstd": {}, "gzip;q=0": {}, "*;q=0": {}, "gzip;q=0, *": {},
		"gzip;q=2": {}, "gzip;q=x": {}, "gzip;q=0.5, identity": {}, "gzip; q=0.5, identity;q=0.8": {},
		"gzip;q=0, identity;q=0": {}, "gzipped": {}, "gzip;q=NaN": {}, "gzip": {large: true},
		"GZIP":                         {large: true},
		"x-gzip":                       {large: true},
		"*":                            {large: true},
		"br, gzip;q=0.1":               {large: true},
		"gzip, deflate, br, zstd":      {large: true},
		"gzip;q=1, identity;q=1":       {large: true},
		"gzip ; Q = 0.7 ,identity;q=0": {large: true, small: true},
		"gzip, *;q=0":                  {large: true, small: true},
		"*, identity;q=0":              {large: true, small: true},
	} {
		for _, c := range []struct {
			b      *harnessBundle
			zipped bool
			vary   string
		}{{large, want.large, "Accept-Encoding"}, {small, want.small, ""}} {
			plain := c.b.send(http.MethodGet, "/api/sessions/"+knownID, "", "")
			r := request(http.MethodGet, "/api/sessions/"+knownID, "", "")
			if accepted != "" {
				r.Header.Set("Accept-Encoding", accepted)
			}
			got := c.b.sendRequest(r)
			header := got.Header()
			if coding := header.Get("Content-Encoding"); (coding == "gzip") != c.zipped || coding != "" && !c.zipped {
				t.Errorf("%q: %d bytes came as %q", accepted, plain.Body.Len(), coding)
				continue
			}
			if header.Get("Content-Length") != strconv.Itoa(got.Body.Len()) ||
				strings.Join(header.Values("Vary"), ",") != c.vary ||
				header.Get("ETag") != `W/"v1"` || header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("%q: %d bytes with header %v", accepted, got.Body.Len(), header)
			}
			text := got.Body.String()
			if c.zipped {
				text = unzipped(t, got.Body)
			}
			if text != plain.Body.String() {
				t.Errorf("%q: %.100s is not %.100s", accepted, text, plain.Body.String())
			}
		}
	}
}

// Over a real connection, HEAD has the headers of GET, and a version is the same in every coding. Errors are
// compressed too, and responses outside REST are unchanged.
func TestGzipOverHTTP(t *testing.T) {
	t.Parallel()
	b := longSession(t, 500)
	server := httptest.NewServer(b.handler)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	ask := func(method, path, accepted, has string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accepted)
		if has != "" {
			r.Header.Set("If-None-Match", has)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if closed := response.Body.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		return response, string(body)
	}
	const path = "/api/sessions/" + knownID
	_, plain := ask(http.MethodGet, path, "identity", "")
	zipped, body := ask(http.MethodGet, path, "gzip", "")
	if unzipped(t, strings.NewReader(body)) != plain || len(body) > len(plain)/3 {
		t.Errorf("%d bytes came as %d", len(plain), len(body))
	}
	head, nothing := ask(http.MethodHead, path, "gzip", "")
	if nothing != "" || head.ContentLength != zipped.ContentLength || head.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("HEAD: %d bytes, header %v", len(nothing), head.Header)
	}
	for _, accepted := range []string{"gzip", "identity"} {
		unchanged, nothing := ask(http.MethodGet, path, accepted, zipped.Header.Get("ETag"))
		if unchanged.StatusCode != http.StatusNotModified || nothing != "" ||
			unchanged.Header.Get("Content-Encoding") != "" ||
			unchanged.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("unchanged, with %s: %d %v", accepted, unchanged.StatusCode, unchanged.Header)
		}
	}
	missing, body := ask(http.MethodGet, "/api/"+strings.Repeat("x", gzipFrom), "gzip", "")
	if missing.StatusCode != http.StatusNotFound || !strings.Contains(unzipped(t, strings.NewReader(body)), "not found") {
		t.Errorf("no route: %d %v", missing.StatusCode, missing.Header)
	}
}

// gzipFrom is the minimum size of compressed responses.
const gzipFrom = 1024

// BenchmarkLongSession measures the server's cost of a whole read of a long session, without and with compression.
func BenchmarkLongSession(b *testing.B) {
	bundle := longSession(b, 5000)
	for _, accepted := range []string{"identity", "gzip"} {
		b.Run(accepted, func(b *testing.B) {
			var size int
			for b.Loop() {
				r := request(http.MethodGet, "/api/sessions/"+knownID, "", "")
				r.Header.Set("Accept-Encoding", accepted)
				size = bundle.sendRequest(r).Body.Len()
			}
			b.ReportMetric(float64(size), "bytes/answer")
		})
	}
}
