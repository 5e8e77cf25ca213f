package auth_test

import (
	"net/netip"
	"testing"

	"harness/auth"
)

// Behind a proxy that ends TLS, the server's own page is one of https: only a trusted proxy may say so, and it makes no
// other origin ours.
func TestATrustedProxyTellsTheSchemeOfTheBrowser(t *testing.T) {
	t.Parallel()
	own, tls := "Origin: https://harness.example", "X-Forwarded-Proto: https"
	ask := func(name string, want int, headers ...string) request {
		one := request{name: name, method: "POST", path: "/api/sessions", host: "harness.example", headers: headers,
			want: want}
		if want != 200 {
			one.code = "forbidden_origin"
		}
		return one
	}
	options := auth.Options{BoundHost: "127.0.0.1", AllowedHosts: []string{"harness.example"}}
	run(t, options, []request{ask("untrusted proxy", 403, own, tls)})
	options.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	run(t, options, []request{ask("another peer", 403, own, tls)})
	options.TrustedProxies = append(options.TrustedProxies, netip.MustParsePrefix("127.0.0.1/32"))
	run(t, options, []request{
		ask("trusted proxy", 200, own, tls),
		ask("no TLS in front", 403, own),
		ask("plain in front", 403, own, "X-Forwarded-Proto: http"),
		ask("said twice", 403, own, tls, "X-Forwarded-Proto: http"),
		ask("page by plain HTTP", 403, "Origin: http://harness.example", tls),
		ask("foreign page", 403, "Origin: https://evil.example", tls),
	})
}
