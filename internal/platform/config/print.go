package config

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
)

// Redacted replaces every displayed secret.
const Redacted = "[redacted]"

// Print writes every variable as NAME=value with its source. The output can be pasted into an issue: secrets are shown
// as [redacted].
func Print(w io.Writer, c *Config) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range c.All() {
		if _, err := fmt.Fprintf(tw, "%s=%s\t# %s\n", one.Name, one.Value, one.Source); err != nil {
			return fmt.Errorf("config: print: %w", err)
		}
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("config: print: %w", err)
	}
	return nil
}

func (v Variable) shown(c *Config) string {
	text := v.text(c)
	switch {
	case text == "":
		return ""
	case v.Secret:
		return Redacted
	case v.show != nil:
		return v.show(text)
	default:
		return text
	}
}

// Setting is a variable for display: a secret is [redacted].
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source is the source of the value, as in Config.Source.
	Source Source `json:"source"`
}

// All returns every variable.
func (c *Config) All() []Setting {
	variables := Variables()
	all := make([]Setting, len(variables))
	for i, v := range variables {
		all[i] = Setting{v.Name, v.shown(c), c.Source(v.Name)}
	}
	return all
}

// Set returns the variables whose value is not the default.
func (c *Config) Set() []Setting {
	return slices.DeleteFunc(c.All(), func(one Setting) bool { return one.Source == SourceDefault })
}

// SecretNames returns the variables that contain a secret, wholly or in part: no child process inherits them.
func SecretNames() []string {
	var out []string
	for _, v := range Variables() {
		if v.Secret || v.show != nil {
			out = append(out, v.Name)
		}
	}
	return out
}

// OwnSecrets returns the variables that no runtime inherits: ours, and those in which the Postgres driver looks for a
// password missing from the URL.
func (c *Config) OwnSecrets() []string {
	if c.DatabaseURL == "" {
		return SecretNames() // a password in those variables belongs to another service
	}
	return append(SecretNames(), "PGPASSWORD", "PGSSLPASSWORD")
}

// Secrets returns every secret value in use, for the log's redactor: whole values, the secret of HARNESS_S3_KEY, and
// the passwords of URLs, both as written and decoded.
func (c *Config) Secrets() []string {
	var out []string
	for _, v := range Variables() {
		if text := v.text(c); v.Secret && text != "" {
			out = append(out, text)
		}
	}
	if c.S3.SecretAccessKey != "" {
		out = append(out, c.S3.SecretAccessKey)
	}
	return slices.Concat(out, urlPasswords(c.DatabaseURL), urlPasswords(c.Notify.NtfyURL))
}

func urlPasswords(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	var out []string
	if password, ok := u.User.Password(); ok && password != "" {
		out = append(out, password)
		if written := writtenPassword(raw); written != password {
			out = append(out, written)
		}
	}
	for key, values := range u.Query() {
		if !secretParameter(key) {
			continue
		}
		for _, value := range values {
			if value != "" {
				out = append(out, value)
			}
		}
	}
	return out
}

// writtenPassword returns the password of the authority before decoding.
func writtenPassword(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	userinfo := rest[:max(strings.LastIndex(rest, "@"), 0)]
	_, password, _ := strings.Cut(userinfo, ":")
	return password
}

// redactURL hides the password in the authority and in the query (pgx accepts it in either).
func redactURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return Redacted
	}
	user := ""
	if u.User != nil {
		user = url.User(u.User.Username()).String()
		if _, has := u.User.Password(); has {
			user += ":" + Redacted
		}
		user += "@"
	}
	text := u.Scheme + "://" + user + u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		text += "?" + redactQuery(u.RawQuery)
	}
	return text
}

func redactQuery(raw string) string {
	parts := strings.Split(raw, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if key, err := url.QueryUnescape(name); err != nil || secretParameter(key) {
			parts[i] = name + "=" + Redacted
		}
	}
	return strings.Join(parts, "&")
}

func secretParameter(key string) bool {
	return strings.EqualFold(key, "password") || strings.EqualFold(key, "sslpassword")
}
