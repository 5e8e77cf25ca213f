package stream

import "strings"

// signalName turns a runtime method into the dotted snake_case name of its signal: item/fileChange/requestApproval
// becomes item.file_change.request_approval. Unknown methods get a name, too.
func signalName(method string) string {
	var parts []string
	for segment := range strings.SplitSeq(method, "/") {
		segment = strings.TrimSpace(segment)
		if segment == "" {
			parts = append(parts, "unknown")
			continue
		}
		// A segment without letters and digits adds nothing.
		if name := snake(segment); name != "" {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, ".")
}

// snake splits words at case changes and at everything except ASCII letters and digits. It keeps acronyms together
// (HTTPServer is http_server), and joins the words with single underscores.
func snake(segment string) string {
	out := make([]byte, 0, len(segment)+8)
	pending := false // an underscore is due before the next letter
	for i := range len(segment) {
		c := segment[i]
		if !isLetter(c) && !isDigit(c) {
			pending = true
			continue
		}
		if isUpper(c) && i > 0 {
			previous := segment[i-1]
			afterWord := isLower(previous) || isDigit(previous)
			beforeWord := isUpper(previous) && i+1 < len(segment) && isLower(segment[i+1])
			pending = pending || afterWord || beforeWord
		}
		if pending && len(out) > 0 {
			out = append(out, '_')
		}
		pending = false
		if isUpper(c) {
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return string(out)
}

func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }
