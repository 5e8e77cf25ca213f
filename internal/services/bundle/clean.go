package bundle

import (
	"bytes"
	"regexp"
	"sync"

	"harness/internal/platform/telemetry"
)

// shape is the pattern of a kind of secret; it redacts its group "secret", or the entire match if it has no such group.
type shape struct {
	pattern *regexp.Regexp
	group   int
}

// names is the pattern of the names of secrets.
const names = `[\w.-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|` +
	`authorization|cookie)[\w.-]*`

// secretName is compiled on first use, like shapes.
var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^` + names + `$`) })

// NamesSecret reports whether a variable's name suggests a secret.
func NamesSecret(name string) bool { return secretName().MatchString(name) }

// shapes are compiled for the first bundle: most processes of this program never make one. Texts are plain text and
// JSON, including JSON in JSON. So backslashes may precede a quote, and a quote ends a value.
var shapes = sync.OnceValue(func() []shape {
	const (
		quote = `\\*"`
		// edge matches the start of a word, including after a JSON escape that ends in a letter.
		edge = `(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})`
	)
	var all []shape
	for _, text := range []string{
		// Armored keys, even truncated ones.
		`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|["']|\z)`,
		// Keys and tokens of providers.
		edge + `(?P<secret>(?:sk|rk|pk)[-_](?:ant-|proj-|live_|test_|or-)?[A-Za-z0-9_-]{12,})`,
		edge + `(?P<secret>(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{16,}))`,
		edge + `(?P<secret>xox[abeoprs]-[A-Za-z0-9-]{8,})`,
		edge + `(?P<secret>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b)`,
		edge + `(?P<secret>(?:AIza[\w-]{30,}|ya29\.[\w-]{16,}))`,
		edge + `(?P<secret>eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)`,
		edge + `hooks\.slack\.com/services/(?P<secret>[\w/]+)`,
		// Values marked as secrets: headers, URLs, assignments, members.
		`(?i)` + edge + `(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/=-]{6,})`,
		`(?i)\b[a-z][a-z0-9+.-]*://[^\s/"'\\:@]*:(?P<secret>[^\s/"'\\@]+)@`,
		`(?i)[?&](?:` + names + `|key|sig|signature|code)=(?P<secret>[^\s&"'\\#]+)`,
		`(?i)\b` + names + `\s*=\s*(?:\\*["'])?(?P<secret>[^\s"'\\&;,]{3,})`,
		`(?i)` + quote + names + quote + `\s*:\s*` + quote + `(?P<secret>(?:[^"\\]|\\+[^"\\])+)`,
		`(?i)\b(?:` + names + `)['"]?:\s+['"]?(?P<secret>[^\s"'\\,;{}\[\]]{6,})`,
		`(?i)\b(?:set-)?cookie:\s*(?P<secret>[^"\\\r\n]+)`,
	} {
		pattern := regexp.MustCompile(text)
		all = append(all, shape{pattern, max(pattern.SubexpIndex("secret"), 0)})
	}
	return all
})

// Cleaner redacts bundle content: known secrets, and everything that resembles one.
type Cleaner struct{ known *telemetry.Redactor }

// NewCleaner makes a Cleaner with the known secrets of a server.
func NewCleaner(secrets ...string) *Cleaner { return &Cleaner{telemetry.NewRedactor(secrets...)} }

// Clean returns a text without its secrets, and the number of redactions. JSON stays valid JSON.
func (c *Cleaner) Clean(text []byte) (cleaned []byte, taken int) {
	cleaned = c.known.Line(text)
	taken = bytes.Count(cleaned, []byte(telemetry.Redacted)) - bytes.Count(text, []byte(telemetry.Redacted))
	for _, s := range shapes() {
		var out []byte
		at := 0
		for _, found := range s.pattern.FindAllSubmatchIndex(cleaned, -1) {
			from, to := found[2*s.group], found[2*s.group+1]
			if bytes.HasPrefix(cleaned[from:to], []byte(telemetry.Redacted)) {
				continue
			}
			if last := cleaned[to-1]; s.group == 0 && (last == '"' || last == '\'') {
				to-- // the quote ends the text with the truncated key
				for to > from && cleaned[to-1] == '\\' {
					to--
				}
			}
			out = append(append(out, cleaned[at:from]...), telemetry.Redacted...)
			at = to
			taken++
		}
		if out != nil {
			cleaned = append(out, cleaned[at:]...)
		}
	}
	return cleaned, taken
}
