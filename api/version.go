package api

import "strings"

// entityTag words a version as an ETag. It is a weak one: the same version is the same content, not always the same bytes.
func entityTag(version string) string { return `W/"` + version + `"` }

// has tells whether If-None-Match names a version. Weakly compared, as RFC 9110 13.1.2 has it for that header.
func (in *input) has(version string) bool {
	for tag := range strings.SplitSeq(in.ifNoneMatch, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == `"`+version+`"` {
			return true
		}
	}
	return false
}
