package runtimetest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Locked returns the address of a proxy of a model (root) that requires a key, in one of the ways to send one.
func Locked(t *testing.T, root, key string) string {
	t.Helper()
	target, err := url.Parse(root)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	pass := httputil.NewSingleHostReverseProxy(target)
	pass.Transport = transport
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+key || r.Header.Get("X-Goog-Api-Key") == key ||
			r.Header.Get("X-Api-Key") == key {
			pass.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided","type":"authentication_error"}}`)) // the client may be gone
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}
