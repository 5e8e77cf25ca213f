package v1_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	v1 "harness/api/v1"
)

// Every query parameter is read or refused before the request has any effect.
func TestUnknownQueryIsRefused(t *testing.T) {
	t.Parallel()
	server := byPath(v1.New(v1.Options{}))
	for _, route := range v1.Routes() {
		target := strings.ReplaceAll(route.Path, ":", "")
		queries := []string{"nothing=1", "%zz=1"}
		for _, name := range route.Query {
			queries = append(queries, name+"=1&"+name+"=2")
		}
		for _, query := range queries {
			answer := httptest.NewRecorder()
			server.ServeHTTP(answer, httptest.NewRequest(route.Method, target+"?"+query, http.NoBody))
			if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), `"invalid_request"`) {
				t.Errorf("%s %s?%s got %d %s", route.Method, target, query, answer.Code, answer.Body)
			}
		}
	}
}
