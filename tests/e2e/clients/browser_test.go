package clients

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"harness/tests/chromiumtest"
	"harness/tests/programtest"
)

//go:embed testdata/browser.html
var browserPage []byte

// attempt is what a page of an origin tries against a server, and the outcome.
type attempt struct {
	// Origin is the page's origin. API is the server's origin, "" for the page's own, where the dev server forwards
	// requests to the server.
	Origin string `json:"origin"`
	API    string `json:"api"`
	// Name is the name of the project that it creates. Without a preflight it creates a second one, with "-blind" after
	// the name.
	Name string `json:"name"`

	// The outcome: the status of the write (0: the browser hid it from the page) and of the preflighted deletion, the
	// first frame of the stream ("" if it was refused), and whether the stream contained the write.
	Write    int    `json:"write"`
	Delete   int    `json:"delete"`
	Stream   string `json:"stream"`
	Received bool   `json:"received"`
}

// webUI serves the pages of all origins, like the dev server of codex-manager's web UI: it proxies all other paths to
// the server. It gives each page its attempt, records the outcome, and sends the browser on to the next page.
func webUI(t *testing.T, server *programtest.Server, attempts []attempt) (address string, outcomes <-chan attempt) {
	t.Helper()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan attempt, len(attempts))
	next := 0 // only one page is open at a time
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(browserPage)
	})
	mux.HandleFunc("GET /attempt", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(attempts[next])
	})
	mux.HandleFunc("POST /outcome", func(w http.ResponseWriter, r *http.Request) {
		var outcome attempt
		if err := json.NewDecoder(r.Body).Decode(&outcome); err != nil {
			t.Errorf("a page reported its attempt: %v", err)
		}
		results <- outcome
		if next++; next < len(attempts) {
			_, _ = io.WriteString(w, attempts[next].Origin+"/")
		}
	})
	mux.Handle("/api/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	pages := httptest.NewServer(mux)
	t.Cleanup(pages.Close)
	return strings.TrimPrefix(pages.URL, "http://"), results
}

// In a real browser, the web UI's documented setup works with its setting. Pages of a dev server on port 5173 write
// and follow the stream, through that server and directly. Pages of any other loopback port cannot, even on the same
// machine, and their blind attempts change nothing.
func TestTheWebUIInARealBrowser(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithRaceDetector()).Start(webUIOrigins)
	const ui, other = "http://localhost:5173", "http://localhost:5174"
	attempts := []attempt{
		{Origin: ui, API: server.URL, Name: "ui-direct"},
		{Origin: ui, Name: "ui-proxied"},
		{Origin: "http://127.0.0.1:5173", API: server.URL, Name: "ip-direct"},
		{Origin: other, API: server.URL, Name: "other-direct"},
		{Origin: other, Name: "other-proxied"},
	}
	address, outcomes := webUI(t, server, attempts)
	chromiumtest.Open(t, attempts[0].Origin+"/", map[string]string{"localhost:5173": address, "127.0.0.1:5173": address,
		"localhost:5174": address})
	for _, want := range attempts {
		if want.Origin != other {
			want.Write, want.Delete, want.Stream, want.Received = http.StatusOK, http.StatusOK, "ready", true
		} else if want.API == "" {
			want.Write, want.Delete = http.StatusForbidden, http.StatusForbidden // a response of its own server, which it may read
		}
		select {
		case got := <-outcomes:
			if got != want {
				t.Errorf("a page of %s did\n%+v, want\n%+v", want.Origin, got, want)
			}
		case <-time.After(programtest.Patience):
			t.Fatalf("the page of %s reported nothing", want.Origin)
		}
	}
	listed := programtest.Encoded(t, server.Want(http.StatusOK, http.MethodGet, "/api/projects", nil))
	for _, trace := range []string{"other", "blind"} {
		if strings.Contains(listed, trace) {
			t.Errorf("a page that may not write has written: %s", listed)
		}
	}
	server.Stop()
}
