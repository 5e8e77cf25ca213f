package auth

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// scheme returns the scheme of the browser's connection, if known.
func (o Options) scheme(r *http.Request) string {
	if r.TLS != nil || o.fromTrustedProxy(r) && clientHasTLS(r.Header) {
		return "https"
	}
	return "http"
}

func (o Options) fromTrustedProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	address := peer.Addr().Unmap()
	return slices.ContainsFunc(o.TrustedProxies, func(trusted netip.Prefix) bool { return trusted.Contains(address) })
}

// secureCookies reports whether cookies are Secure. An https address of this server is sufficient: a misconfigured
// proxy must not move the cookie to a plain connection.
func (o Options) secureCookies(r *http.Request) bool {
	public, err := url.Parse(o.PublicURL)
	return err == nil && public.Scheme == "https" || o.scheme(r) == "https"
}

// clientHasTLS reads the proxies' headers about the client's own connection. Each proxy of a chain adds a value, in a
// list or as another line: the first one is the client's. Forwarded counts without X-Forwarded-Proto.
func clientHasTLS(header http.Header) bool {
	proto := forwardedProto(header.Values("Forwarded"))
	for value := range strings.SplitSeq(strings.Join(header.Values("X-Forwarded-Proto"), ","), ",") {
		if value = strings.TrimSpace(value); value != "" {
			proto = value
			break
		}
	}
	return strings.EqualFold(proto, "https") || strings.EqualFold(proto, "wss") // Traefik sends wss for a websocket
}

// forwardedProto returns the proto of the first element of Forwarded (RFC 7239, section 4). It is "" if that element
// has none, since later elements describe connections between proxies. It is also "" if the header is malformed.
func forwardedProto(lines []string) string {
	elements, ok := unquotedFields(strings.Join(lines, ","), ',')
	if !ok || len(elements) == 0 {
		return ""
	}
	proto := ""
	pairs, _ := unquotedFields(elements[0], ';')
	for _, pair := range pairs {
		name, value, isPair := strings.Cut(pair, "=")
		if !isPair {
			return ""
		}
		if !strings.EqualFold(name, "proto") {
			continue
		}
		if value, ok = unquoted(value); !ok || proto != "" { // a parameter occurs once in an element
			return ""
		}
		proto = value
	}
	return proto
}

// unquotedFields splits at separators outside quoted strings, and omits empty fields; false for an unterminated quoted
// string.
func unquotedFields(s string, separator byte) (fields []string, ok bool) {
	inside, start := false, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == separator && !inside:
			if field := strings.TrimSpace(s[start:i]); field != "" {
				fields = append(fields, field)
			}
			start = i + 1
		case s[i] == '"':
			inside = !inside
		case s[i] == '\\' && inside && i+1 < len(s):
			i++
		}
	}
	return fields, !inside
}

// unquoted returns the text of a token or of a quoted string.
func unquoted(s string) (text string, ok bool) {
	inner, quoted := strings.CutPrefix(s, `"`)
	if !quoted {
		return s, true
	}
	var out strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] == '"' {
			return out.String(), i == len(inner)-1
		}
		if inner[i] == '\\' && i+1 < len(inner) {
			i++
		}
		out.WriteByte(inner[i])
	}
	return "", false
}
