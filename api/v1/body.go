package v1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"harness/api/rest"
)

// body is a request's JSON object, keyed by names in snake_case.
type body map[string]json.RawMessage

// read parses a body and refuses members that are not in names. An empty body has no members. camelCase becomes
// snake_case.
func (s *Server) read(r *http.Request, names ...string) (body, error) {
	raw, err := s.readAll(r)
	if err != nil {
		return nil, err
	}
	if len(strings.TrimSpace(raw)) == 0 {
		return body{}, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &given); err != nil || given == nil {
		return nil, invalid("the body is not a JSON object")
	}
	b := body{}
	for name, value := range given {
		plain := snake(name)
		if !slices.Contains(names, plain) {
			return nil, invalid(fmt.Sprintf("%q is unknown; the known names are %s", name, strings.Join(names, ", ")))
		}
		if _, twice := b[plain]; twice {
			return nil, invalid(plain + " is given in both spellings")
		}
		b[plain] = value
	}
	return b, nil
}

// readAll reads a body, up to rest.MaxBody.
func (s *Server) readAll(r *http.Request) (string, error) {
	raw, err := s.bodies.Read(r, rest.MaxBody)
	switch {
	case errors.Is(err, rest.ErrBodyTooLarge):
		return "", &refusal{http.StatusRequestEntityTooLarge, "payload_too_large",
			fmt.Sprintf("the body is longer than %d bytes", rest.MaxBody), nil}
	case err != nil:
		return "", invalid("the body could not be read")
	}
	return raw, nil
}

// readQuery parses a query, with names in snake_case. It refuses unknown names instead of ignoring them.
func readQuery(r *http.Request, names []string) (url.Values, error) {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid("the query cannot be read")
	}
	query := url.Values{}
	for name, values := range given {
		plain := snake(name)
		switch {
		case !slices.Contains(names, plain) && len(names) == 0:
			return nil, invalid(fmt.Sprintf("%q is unknown; this route has no query parameters", name))
		case !slices.Contains(names, plain):
			return nil, invalid(fmt.Sprintf("%q is unknown; the known names are %s", name, strings.Join(names, ", ")))
		case len(values) > 1 || query.Has(plain):
			return nil, invalid(plain + " is given more than once")
		}
		query[plain] = values
	}
	return query, nil
}

// snake converts a name to snake_case.
func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// has reports whether a member is present and not null.
func (b body) has(name string) bool { return len(b[name]) > 0 && string(b[name]) != "null" }

// text returns a string member, "" when it is absent.
func (b body) text(name string) (text string, err error) {
	if b.has(name) && json.Unmarshal(b[name], &text) != nil {
		return "", invalid(name + " must be a string")
	}
	return text, nil
}

// flag returns a boolean member, false when it is absent.
func (b body) flag(name string) (flag bool, err error) {
	if b.has(name) && json.Unmarshal(b[name], &flag) != nil {
		return false, invalid(name + " must be true or false")
	}
	return flag, nil
}

// only refuses a member unless it is absent or one of some values (as JSON).
func (b body) only(name, why string, values ...string) error {
	if !b.has(name) || slices.Contains(values, string(b[name])) {
		return nil
	}
	return &refusal{http.StatusBadRequest, "not_supported", name + ": " + why, members{"field": name}}
}

// runtimeConfig refuses configuration of a runtime. The error names the unsupported members and the alternatives.
func (b body) runtimeConfig() error {
	if !b.has("runtime_config") {
		return nil
	}
	var asked map[string]json.RawMessage
	if json.Unmarshal(b["runtime_config"], &asked) != nil {
		return invalid("runtime_config is not an object")
	}
	if len(asked) == 0 {
		return nil
	}
	refused := slices.Sorted(maps.Keys(asked))
	return &refusal{http.StatusBadRequest, "not_supported", "runtime_config: this server does not accept " +
		strings.Join(refused, ", ") + "; use the members of the session instead",
		members{"field": "runtime_config", "refused": refused, "supported": []string{"cwd", "model", "native_tools",
			"non_interactive", "permission_mode", "runtime"}}}
}

// count returns a number in the query, or the default in missing.
func count(r *http.Request, name string, missing, least, most int64) (int64, error) {
	given := r.URL.Query().Get(name)
	if given == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < least || n > most {
		return 0, invalid(fmt.Sprintf("%s must be a number from %d to %d", name, least, most))
	}
	return n, nil
}
