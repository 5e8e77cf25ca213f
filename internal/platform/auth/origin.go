package auth

import (
	"net/url"
	"strings"
)

// OriginAllowed decides whether a page of the given origin may open the stream and change state. It may if it was
// served from exactly this scheme, host and port, or if it is listed. "null" (sandboxed frames, files) never may.
// scheme and host are those of the request: "http", "127.0.0.1:3001".
func OriginAllowed(origin, scheme, host string, allowed []string) bool {
	given, ok := canonicalOrigin(origin)
	if !ok {
		return false
	}
	if own, ok := canonicalOrigin(scheme + "://" + host); ok && own == given {
		return true
	}
	return originListed(origin, allowed)
}

func originListed(origin string, allowed []string) bool {
	given, ok := canonicalOrigin(origin)
	if !ok {
		return false
	}
	for _, entry := range allowed {
		if listed, ok := canonicalOrigin(entry); ok && listed == given {
			return true
		}
	}
	return false
}

// canonicalOrigin returns scheme://host:port, always with the port. Origins are compared as a whole, so no prefix or
// suffix of a name can pass.
func canonicalOrigin(s string) (string, bool) {
	u, err := url.Parse(s)
	if err != nil || u.User != nil || u.Host == "" || !strings.EqualFold(s, u.Scheme+"://"+u.Host) {
		return "", false
	}
	host, port, ok := splitHost(u.Host)
	if !ok {
		return "", false
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return u.Scheme + "://" + host + ":" + port, true
}
