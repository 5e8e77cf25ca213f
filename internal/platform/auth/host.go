package auth

import (
	"strconv"
	"strings"
)

// HostAllowed decides whether the server answers a request's Host header. A page of attacker.example that makes its
// name resolve to 127.0.0.1 (DNS rebinding) is same-origin for the browser; only this header reveals it.
//
// Allowed are loopback names and addresses, the bound host, and the entries of allowed: "name" fits any port,
// "name:port" only that one. When the server listens on every address, any literal IP address is its own: rebinding
// needs a name.
func HostAllowed(header, bound string, allowed []string) bool {
	host, port, ok := splitHost(header)
	if !ok {
		return false
	}
	if IsLoopback(host) || host == plainHost(bound) {
		return true
	}
	if _, isIP := parseIP(host); isIP && unspecified(bound) {
		return true
	}
	for _, entry := range allowed {
		h, p, ok := splitHost(entry)
		if ok && h == host && (p == "" || p == port) {
			return true
		}
	}
	return false
}

// splitHost splits "host", "host:port" or "[v6]:port"; host is in the form that plainHost returns. False means that it
// is none of these.
func splitHost(s string) (host, port string, ok bool) {
	// "::1" without brackets is an address, not host ":" and port "1".
	if strings.Count(s, ":") > 1 && !strings.HasPrefix(s, "[") {
		_, isIP := parseIP(s)
		return plainHost(s), "", isIP
	}
	host = s
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		host, port = s[:i], s[i+1:]
		if !isPort(port) {
			return "", "", false
		}
	}
	if strings.HasPrefix(host, "[") {
		if _, isIP := parseIP(host); !isIP {
			return "", "", false
		}
	}
	host = plainHost(host)
	return host, port, host != "" && !strings.ContainsAny(host, " \t/\\@?#%,;")
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0' && s[0] != '+'
}

// plainHost normalizes the spelling of a host: case, brackets, one trailing dot, mapped IPv4.
func plainHost(host string) string {
	if ip, ok := parseIP(host); ok {
		return ip.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func unspecified(bound string) bool {
	ip, ok := parseIP(bound)
	return bound == "" || (ok && ip.IsUnspecified())
}
