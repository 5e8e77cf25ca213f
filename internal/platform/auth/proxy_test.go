package auth_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"harness/internal/platform/auth"
)

// Behind a proxy that terminates TLS, the server's own page has an https origin. Only a trusted proxy may report that,
// and it makes no other origin ours.
func TestTrustedProxyReportsBrowserScheme(t *testing.T) {
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
		ask("two lines, the client's first", 200, own, tls, "X-Forwarded-Proto: http"),
		ask("two lines, plain client", 403, own, "X-Forwarded-Proto: http", tls),
		ask("list", 200, own, "X-Forwarded-Proto: HTTPS , http"),
		ask("list, plain client", 403, own, "X-Forwarded-Proto: http, https"),
		ask("list with empty values", 200, own, "X-Forwarded-Proto: , ,https,http"),
		ask("nothing said", 403, own, "X-Forwarded-Proto: "),
		ask("a socket's scheme", 200, own, "X-Forwarded-Proto: wss"),
		ask("a plain socket's scheme", 403, own, "X-Forwarded-Proto: ws"),
		ask("no scheme", 403, own, "X-Forwarded-Proto: on"),
		ask("page by plain HTTP", 403, "Origin: http://harness.example", tls),
		ask("foreign page", 403, "Origin: https://evil.example", tls),
	})
}

// Proxies may also send the header of RFC 7239: the first element describes the client, and a header that is malformed
// there is ignored.
func TestATrustedProxySendsForwarded(t *testing.T) {
	t.Parallel()
	options := auth.Options{BoundHost: "127.0.0.1", AllowedHosts: []string{"harness.example"},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	var cases []request
	for want, headers := range map[int][][]string{
		200: {
			{"proto=https"},
			{"Proto=HTTPS"},
			{`proto="https"`},
			{`proto="htt\ps"`},
			{`for=192.0.2.43;proto=https;by=203.0.113.60`},
			{`for="[2001:db8::17]:4711"; host="a,b;proto=http\"" ; proto=https`},
			{"proto=https, proto=http"},
			{", for=192.0.2.43;;proto=https,for=198.51.100.17;proto=http"},
			{"for=192.0.2.43;proto=https", "proto=http"},
			{`proto="wss"`},
		},
		403: {
			{"proto=http"},
			{"proto=http, proto=https"},
			{"proto=http", "proto=https"},
			{"for=192.0.2.43, proto=https"},
			{"for=192.0.2.43;host=a"},
			{`for="proto=https"`},
			{`for="a;proto=https`},
			{`host="x\";proto=https`},
			{"proto=https;proto=https"},
			{`proto="https`},
			{`proto="https"x`},
			{`proto="https\"`},
			{"https"},
			{"for=a;https"},
			{"proto"},
			{"xproto=https"},
			{""},
		},
	} {
		for _, lines := range headers {
			one := request{name: strings.Join(lines, " | "), method: "POST", path: "/api/sessions", host: "harness.example",
				headers: []string{"Origin: https://harness.example"}, want: want}
			if want != 200 {
				one.code = "forbidden_origin"
			}
			for _, line := range lines {
				one.headers = append(one.headers, "Forwarded: "+line)
			}
			cases = append(cases, one)
		}
	}
	run(t, options, append(cases, request{name: "the other header goes first", method: "POST", path: "/api/sessions",
		host: "harness.example", want: 403, code: "forbidden_origin", headers: []string{"Origin: https://harness.example",
			"Forwarded: proto=https", "X-Forwarded-Proto: http"}}))
	options.TrustedProxies = nil
	run(t, options, []request{{name: "untrusted proxy", method: "POST", path: "/api/sessions", host: "harness.example",
		headers: []string{"Origin: https://harness.example", "Forwarded: proto=https"}, want: 403, code: "forbidden_origin"}})
}

// Probes of orchestrators and load balancers are answered with any Host and with none. Other requests are not, and
// neither are requests that only resemble a probe.
func TestProbesAreAnsweredOnAnyHost(t *testing.T) {
	t.Parallel()
	guard := auth.Guard(auth.Options{BoundHost: "127.0.0.1", Token: token})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(method, path, host string, headers ...string) int {
		r := httptest.NewRequest(method, path, nil)
		r.Host, r.RemoteAddr = host, "10.0.0.9:5"
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		return w.Code
	}
	for _, host := range []string{"", "10.1.2.3:3001", "harness.default.svc", "attacker.example:3001", "not a host"} {
		for _, path := range []string{"/healthz", "/readyz"} {
			for _, method := range []string{"GET", "HEAD"} {
				if got := ask(method, path, host); got != 200 {
					t.Errorf("%s %s of host %q is answered %d", method, path, host, got)
				}
			}
			if got := ask("POST", path, host); got != 403 {
				t.Errorf("POST %s of host %q is answered %d", path, host, got)
			}
			if got := ask("GET", path, host, "Upgrade: websocket"); got != 403 {
				t.Errorf("an upgrade of %s of host %q is answered %d", path, host, got)
			}
		}
		for _, path := range []string{"/", "/metrics", "/api", "/api/docs", "/healthz/", "/readyz/x", "/v1/health", "/api/health", "/api/ready"} {
			if got := ask("GET", path, host, "Authorization: Bearer "+token); got != 403 {
				t.Errorf("%s of host %q is answered %d", path, host, got)
			}
		}
	}
}
