package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// At the agents' port a request belongs to the session whose bearer token it carries, and is refused without one.
func TestAgentGuard(t *testing.T) {
	t.Parallel()
	var refused []string
	guard := AgentGuard(AgentOptions{
		Session: func(_ context.Context, bearer string) (string, bool, error) {
			if bearer == "broken" {
				return "", true, errors.New("the store is away")
			}
			id, genuine := map[string]string{"good": "s", "unnamed": ""}[bearer]
			return id, genuine, nil
		},
		Refused: func(code string) { refused = append(refused, code) },
	})
	var seen Principal
	handler := guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen, _ = PrincipalFrom(r.Context()) }))
	for what, test := range map[string]struct {
		headers []string
		path    string
		status  int
	}{
		"the bearer":         {[]string{"Bearer good"}, "/api/sessions/s", 200},
		"of no session yet":  {[]string{"Bearer unnamed"}, "/mcp", 200},
		"in another case":    {[]string{"bearer  good"}, "/mcp", 200},
		"none":               {nil, "/api/sessions/s", 401},
		"none, a probe":      {nil, "/healthz", 401},
		"another one":        {[]string{"Bearer bad"}, "/api/sessions/s", 401},
		"an empty one":       {[]string{"Bearer "}, "/api/sessions/s", 401},
		"another scheme":     {[]string{"Basic good"}, "/api/sessions/s", 401},
		"two":                {[]string{"Bearer good", "Bearer good"}, "/api/sessions/s", 401},
		"in the query":       {nil, "/api/stream?access_token=good", 401},
		"one not looked up":  {[]string{"Bearer broken"}, "/api/sessions/s", 503},
		"an owner's, by far": {[]string{"Bearer hrn_anything"}, "/api/sessions/s", 401},
	} {
		seen, refused = Principal{}, nil
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		r.Header["Authorization"] = test.headers
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if answer.Code != test.status {
			t.Errorf("%s: %d %s, want %d", what, answer.Code, answer.Body, test.status)
		}
		want := Principal{}
		if what == "of no session yet" {
			want = Principal{Actor: "agent", Role: RoleAgent}
		} else if test.status == http.StatusOK {
			want = Principal{Actor: "agent:s", Role: RoleAgent, Session: "s"}
		}
		if seen != want {
			t.Errorf("%s: %+v, want %+v", what, seen, want)
		}
		if (len(refused) == 1) != (test.status != http.StatusOK) {
			t.Errorf("%s: refusals counted: %v", what, refused)
		}
	}
}
