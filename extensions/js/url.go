package js

import (
	"encoding/json"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURL is the longest valid URL in bytes.
const maxURL = 128 << 10

// askURL serves web/url.js. The requests are ["parse", url, base or null] and ["set", href, member, value]. The answer
// is the URL's members as JSON, in the order of url.js, and "" for an invalid URL.
func askURL(text string) string {
	var request []*string
	if len(text) > maxURL || json.Unmarshal([]byte(text), &request) != nil || len(request) < 3 || request[1] == nil {
		return ""
	}
	var u *whatwg.Url
	var err error
	switch {
	case request[2] == nil:
		u, err = whatwg.Parse(*request[1])
	case len(request) == 3:
		var base *whatwg.Url
		if base, err = whatwg.Parse(*request[2]); err == nil {
			u, err = base.Parse(*request[1])
		}
	case request[3] != nil:
		if u, err = whatwg.Parse(*request[1]); err == nil {
			u, err = setURL(u, *request[2], *request[3])
		}
	}
	if err != nil || u == nil {
		return ""
	}
	answer, err := json.Marshal([]string{
		u.Href(false), origin(u), u.Protocol(), u.Username(), u.Password(), u.Host(), u.Hostname(), u.Port(), u.Pathname(),
		u.Search(), u.Hash(),
	})
	if err != nil {
		return ""
	}
	return string(answer)
}

// setURL sets one member. A value that the standard refuses leaves the URL unchanged.
func setURL(u *whatwg.Url, member, value string) (*whatwg.Url, error) {
	before := u.Href(false)
	switch member {
	case "href":
		return whatwg.Parse(value)
	case "protocol":
		u.SetProtocol(value)
	case "username":
		u.SetUsername(value)
	case "password":
		u.SetPassword(value)
	case "host":
		u.SetHost(value)
	case "hostname":
		u.SetHostname(value)
	case "port":
		u.SetPort(value)
	case "pathname":
		u.SetPathname(value)
	case "search":
		u.SetSearch(value)
	case "hash":
		u.SetHash(value)
	}
	// A setter that stopped halfway must not leave an invalid URL.
	if _, err := whatwg.Parse(u.Href(false)); err != nil {
		return whatwg.Parse(before)
	}
	return u, nil
}

// origin returns the URL's origin, "null" for an opaque one.
func origin(u *whatwg.Url) string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Protocol() + "//" + u.Host()
	case "blob":
		if inner, err := whatwg.Parse(u.Pathname()); err == nil && (inner.Scheme() == "http" || inner.Scheme() == "https") {
			return origin(inner)
		}
	}
	return "null"
}
