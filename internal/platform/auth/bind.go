package auth

import (
	"fmt"
	"net/netip"
	"strings"
)

// BindError refuses to listen for other machines without authentication. Its
// text is one line that names the remedy; the command exits 2 with it.
type BindError struct{ Host string }

// Error implements error.
func (e *BindError) Error() string {
	return fmt.Sprintf(
		"HOST: %q would let other machines in without authentication; set HARNESS_AUTH_TOKEN, or HOST=127.0.0.1, "+
			"or HARNESS_INSECURE_NO_AUTH=true when a proxy in front authenticates", e.Host)
}

// CheckBind decides whether the server may listen on host. It may always on a loopback address. On any other address it
// may with authentication, or if the operator explicitly declares that something else authenticates.
func CheckBind(host string, hasAuth, insecure bool) error {
	if hasAuth || insecure || IsLoopback(host) {
		return nil
	}
	return &BindError{Host: host}
}

// IsLoopback reports whether host (no port; brackets allowed) is "localhost" or
// a loopback address. An empty host listens everywhere and is not loopback.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, ok := parseIP(host)
	return ok && ip.IsLoopback()
}

// parseIP reads an address in its canonical form only: "127.1", "0x7f.1" and zones are invalid here, although
// resolvers accept them.
func parseIP(host string) (netip.Addr, bool) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, false
		}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}
