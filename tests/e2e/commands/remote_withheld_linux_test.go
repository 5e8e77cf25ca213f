package commands

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// withholdAnswer makes commands reach the server through a proxy that withholds the response to a message. accepted
// is closed when the server has responded. release lets the response through.
func (u *terminal) withholdAnswer() (accepted <-chan struct{}, release func()) {
	u.t.Helper()
	server, err := url.Parse(u.URL)
	if err != nil {
		u.t.Fatal(err)
	}
	answered, released := make(chan struct{}), make(chan struct{})
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost && strings.HasSuffix(r.Request.URL.Path, "/messages") {
				close(answered)
				<-released
			}
			return nil
		},
	}
	between := httptest.NewServer(proxy)
	release = sync.OnceFunc(func() { close(released) })
	u.t.Cleanup(func() {
		release()
		between.Close()
	})
	u.env = append(u.env, "HARNESS_URL="+between.URL)
	return answered, release
}
