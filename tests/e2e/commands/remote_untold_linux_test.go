package commands

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// untold has commands reach the server by way of a network that keeps the answer to a message for itself: accepted tells
// that the server has given one, and tell lets it through.
func (u *terminal) untold() (accepted <-chan struct{}, tell func()) {
	u.t.Helper()
	server, err := url.Parse(u.URL)
	if err != nil {
		u.t.Fatal(err)
	}
	answered, told := make(chan struct{}), make(chan struct{})
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost && strings.HasSuffix(r.Request.URL.Path, "/messages") {
				close(answered)
				<-told
			}
			return nil
		},
	}
	between := httptest.NewServer(proxy)
	tell = sync.OnceFunc(func() { close(told) })
	u.t.Cleanup(func() {
		tell()
		between.Close()
	})
	u.env = append(u.env, "HARNESS_URL="+between.URL)
	return answered, tell
}
