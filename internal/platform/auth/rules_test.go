package auth

import (
	"strings"
	"testing"
)

// DNS rebinding and spellings of the Host header.
func TestHostAllowed(t *testing.T) {
	t.Parallel()
	allowed := []string{"App.Example.com", "only.example.com:8443", "2001:db8::7", "[2001:db8::8]:99"}
	cases := []struct {
		header, bound string
		want          bool
	}{
		{"127.0.0.1:3001", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.9.9.9:1", "127.0.0.1", true},
		{"localhost:3001", "127.0.0.1", true},
		{"LOCALHOST:3001", "127.0.0.1", true},
		{"localhost.:3001", "127.0.0.1", true},
		{"[::1]:3001", "127.0.0.1", true},
		{"[::1]", "127.0.0.1", true},
		{"[::ffff:127.0.0.1]:3001", "127.0.0.1", true},
		{"192.168.1.5:3001", "192.168.1.5", true},
		{"box.lan:3001", "box.lan", true},
		{"BOX.lan", "box.lan", true},
		{"app.example.com", "0.0.0.0", true},
		{"app.example.com.:443", "0.0.0.0", true},
		{"only.example.com:8443", "0.0.0.0", true},
		{"[2001:db8::7]:5", "127.0.0.1", true},
		{"[2001:db8:0::8]:99", "127.0.0.1", true},
		{"10.1.2.3:3001", "0.0.0.0", true},
		{"[fe80::1]:3001", "::", true},

		{"", "127.0.0.1", false},
		{"", "", false},
		{"attacker.example:3001", "127.0.0.1", false},
		{"attacker.example:3001", "0.0.0.0", false},
		{"10.1.2.3:3001", "127.0.0.1", false},
		{"localhost.attacker.example", "127.0.0.1", false},
		{"127.0.0.1.attacker.example", "127.0.0.1", false},
		{"attackerlocalhost", "127.0.0.1", false},
		{"foo.localhost", "127.0.0.1", false},
		{"localhost:3001@attacker.example", "127.0.0.1", false},
		{"localhost:", "127.0.0.1", false},
		{"localhost:x", "127.0.0.1", false},
		{"localhost:99999", "127.0.0.1", false},
		{"localhost/", "127.0.0.1", false},
		{"localhost,attacker.example", "127.0.0.1", false},
		{"127.1", "127.0.0.1", false},
		{"0x7f.0.0.1", "127.0.0.1", false},
		{"2130706433", "127.0.0.1", false},
		{"[::1", "127.0.0.1", false},
		{"[::1]attacker.example", "127.0.0.1", false},
		{"[localhost]", "127.0.0.1", false},
		{"[::1%25eth0]", "127.0.0.1", false},
		{"only.example.com", "0.0.0.0", false},
		{"only.example.com:8444", "0.0.0.0", false},
		{"sub.app.example.com", "0.0.0.0", false},
		{"app.example.com.evil", "0.0.0.0", false},
		{"[2001:db8::8]:98", "127.0.0.1", false},
	}
	for _, c := range cases {
		if got := HostAllowed(c.header, c.bound, allowed); got != c.want {
			t.Errorf("HostAllowed(%q, bound %q) = %v, want %v", c.header, c.bound, got, c.want)
		}
	}
}

// Cross-site hijacking: no attempt is accepted.
func TestOriginAllowed(t *testing.T) {
	t.Parallel()
	allowed := []string{"https://app.example.com", "http://dev.example.com:5173"}
	cases := []struct {
		origin, scheme, host string
		want                 bool
	}{
		{"http://127.0.0.1:3001", "http", "127.0.0.1:3001", true},
		{"http://localhost:3001", "http", "LOCALHOST:3001", true},
		{"http://[::1]:3001", "http", "[::1]:3001", true},
		{"http://box.lan", "http", "box.lan:80", true},
		{"http://box.lan:80", "http", "box.lan", true},
		{"https://box.lan", "https", "box.lan:443", true},
		{"https://app.example.com", "http", "127.0.0.1:3001", true},
		{"https://APP.example.com:443", "http", "127.0.0.1:3001", true},
		{"http://dev.example.com:5173", "http", "127.0.0.1:3001", true},

		{"", "http", "127.0.0.1:3001", false},
		{"null", "http", "127.0.0.1:3001", false},
		{"*", "http", "127.0.0.1:3001", false},
		{"https://attacker.example", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:3002", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1", "http", "127.0.0.1:3001", false},
		{"https://127.0.0.1:3001", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:3001", "https", "127.0.0.1:3001", false},
		{"ws://127.0.0.1:3001", "http", "127.0.0.1:3001", false},
		{"http://localhost:3001", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1.attacker.example:3001", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:3001.attacker.example", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:3001@attacker.example", "http", "127.0.0.1:3001", false},
		{"http://attacker.example/127.0.0.1:3001", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:3001/", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:3001#x", "http", "127.0.0.1:3001", false},
		{"http://user@127.0.0.1:3001", "http", "127.0.0.1:3001", false},
		{"//127.0.0.1:3001", "http", "127.0.0.1:3001", false},
		{"127.0.0.1:3001", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:3001 http://attacker.example", "http", "127.0.0.1:3001", false},
		{"http://127.0.0.1:03001", "http", "127.0.0.1:3001", false},
		{"http://app.example.com", "http", "127.0.0.1:3001", false},
		{"https://app.example.com.attacker.example", "http", "127.0.0.1:3001", false},
		{"https://attackerapp.example.com", "http", "127.0.0.1:3001", false},
		{"https://sub.app.example.com", "http", "127.0.0.1:3001", false},
		{"https://app.example.com:8443", "http", "127.0.0.1:3001", false},
		{"http://dev.example.com", "http", "127.0.0.1:3001", false},
		{"http://dev.example.com:51730", "http", "127.0.0.1:3001", false},
		{"file://", "http", "127.0.0.1:3001", false},
		{"chrome-extension://abcdef", "http", "127.0.0.1:3001", false},
	}
	for _, c := range cases {
		if got := OriginAllowed(c.origin, c.scheme, c.host, allowed); got != c.want {
			t.Errorf("OriginAllowed(%q, %s://%s) = %v, want %v", c.origin, c.scheme, c.host, got, c.want)
		}
	}
}

// The server refuses to start on a non-loopback address without authentication.
func TestCheckBind(t *testing.T) {
	t.Parallel()
	cases := []struct {
		host              string
		hasAuth, insecure bool
		ok                bool
	}{
		{"127.0.0.1", false, false, true},
		{"127.8.8.8", false, false, true},
		{"localhost", false, false, true},
		{"LocalHost", false, false, true},
		{"::1", false, false, true},
		{"[::1]", false, false, true},
		{"0.0.0.0", false, false, false},
		{"::", false, false, false},
		{"", false, false, false},
		{"192.168.1.5", false, false, false},
		{"box.lan", false, false, false},
		{"localhost.attacker.example", false, false, false},
		{"127.0.0.1.example", false, false, false},
		{"0.0.0.0", true, false, true},
		{"0.0.0.0", false, true, true},
		{"", true, false, true},
	}
	for _, c := range cases {
		err := CheckBind(c.host, c.hasAuth, c.insecure)
		if (err == nil) != c.ok {
			t.Errorf("CheckBind(%q, auth %v, insecure %v) = %v", c.host, c.hasAuth, c.insecure, err)
		}
		if err == nil {
			continue
		}
		for _, want := range []string{"HOST", c.host, "HARNESS_AUTH_TOKEN", "127.0.0.1", "HARNESS_INSECURE_NO_AUTH=true"} {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line that names %q", err, want)
			}
		}
	}
}

func FuzzOriginNeedsTheWholeHost(f *testing.F) {
	for _, s := range []string{"http://h:1.evil", "http://h:1@evil", "http://evil#h:1", "http://h:1/", "HTTP://H:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		// Whatever the spelling, only this scheme, host and port are allowed.
		if OriginAllowed(origin, "http", "h:1", nil) &&
			!strings.EqualFold(strings.Replace(origin, "h.:", "h:", 1), "http://h:1") &&
			!strings.EqualFold(strings.Replace(origin, "H.:", "h:", 1), "http://h:1") {
			t.Errorf("%q passes for http://h:1", origin)
		}
	})
}
