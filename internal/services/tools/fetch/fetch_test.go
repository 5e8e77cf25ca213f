package fetch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"harness/internal/services/tools"
	"harness/internal/services/tools/fetch"
)

func get(t *testing.T, options fetch.Options, input string) (map[string]any, error) {
	t.Helper()
	tool := fetch.Tool(options)
	if _, err := tools.NewRegistry(tools.RegistryOptions{AllowNetwork: true}, tool); err != nil {
		t.Fatal(err)
	}
	out, err := tool.Run(t.Context(), tools.Job{Input: json.RawMessage(input), Stdout: io.Discard, Stderr: io.Discard})
	var answer map[string]any
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	return answer, err
}

// The fetched content, and its limit.
func TestTheWebIsRead(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://example.com/", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
					return
				}
			}
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0xfe, 0})
		case "/missing":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "ééé")
		}
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	open := fetch.Options{Hosts: []string{host}}
	for path, want := range map[string]string{"/": "200 text/plain ééé false",
		"/missing": "404 text/plain; charset=utf-8 404 page not found\n false"} {
		out, err := get(t, open, fmt.Sprintf(`{"url":%q}`, server.URL+path))
		if got := fmt.Sprint(out["status"], " ", out["content_type"], " ", out["content"], " ",
			out["truncated"]); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", path, got, err, want)
		}
	}
	if out, err := get(t, open, fmt.Sprintf(`{"url":%q,"max_bytes":3}`, server.URL)); err != nil ||
		out["content"] != "é" || out["truncated"] != true {
		t.Errorf("cut: %v (%v)", out, err)
	}
	if out, err := get(t, open, fmt.Sprintf(`{"url":%q}`, server.URL+"/endless")); err != nil ||
		len(out["content"].(string)) != 256<<10 || out["truncated"] != true {
		t.Errorf("endless: %v", err)
	}
	for name, c := range map[string]struct {
		options   fetch.Options
		url, says string
	}{
		"another host":  {open, "http://example.com/", "none of the hosts"},
		"sent away":     {open, server.URL + "/away", "none of the hosts"},
		"in a circle":   {open, server.URL + "/round", "more than 5"},
		"binary":        {open, server.URL + "/binary", "no UTF-8"},
		"a file":        {open, "file:///etc/passwd", `scheme "file"`},
		"a password":    {open, "http://a:b@" + host, "password"},
		"no URL":        {open, "http://[", "missing ']'"},
		"this machine":  {fetch.Options{}, server.URL, "not a public one"},
		"by its name":   {fetch.Options{}, strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "not a public one"},
		"metadata":      {fetch.Options{}, "http://169.254.169.254/latest/meta-data/", "not a public one"},
		"a private one": {fetch.Options{}, "http://10.0.0.1/", "not a public one"},
		"carrier":       {fetch.Options{}, "http://100.64.0.1/", "not a public one"},
		"as IPv6":       {fetch.Options{}, "http://[::ffff:127.0.0.1]/", "not a public one"},
		"translated":    {fetch.Options{}, "http://[64:ff9b::7f00:1]/", "not a public one"},
		"Azure's":       {fetch.Options{}, "http://168.63.129.16/", "not a public one"},
		"given up":      {fetch.Options{}, "http://[fec0::1]/", "not a public one"},
		"compatible":    {fetch.Options{}, "http://[::7f00:1]/", "not a public one"},
		"a relay":       {fetch.Options{}, "http://192.88.99.1/", "not a public one"},
		"as a number":   {fetch.Options{}, "http://0.0.0.0/", "not a public one"},
	} {
		if out, err := get(t, c.options, fmt.Sprintf(`{"url":%q}`, c.url)); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v, want %q", name, out, err, c.says)
		}
	}
}
