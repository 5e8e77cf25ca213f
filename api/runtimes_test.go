package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"harness/runtime"
	"harness/session"
)

// Who opens a session names its runtime: an unknown one is refused with those there are, one that is away with what to do.
func TestRuntimeOfANewSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.next.session.Runtime = "other"
	answer := b.send(http.MethodPost, "/api/sessions", "application/json", `{"runtime":" other "}`)
	if answer.Code != http.StatusOK || b.sessions.created[0].Runtime != "other" || !strings.Contains(answer.Body.String(), `"runtime":"other"`) {
		t.Errorf("%d %s after %+v", answer.Code, answer.Body, b.sessions.created)
	}
	if b.send(http.MethodPost, "/api/sessions", "application/json", `{}`); b.sessions.created[1].Runtime != "" {
		t.Errorf("asked for %q where the body names no runtime", b.sessions.created[1].Runtime)
	}
	for _, body := range []string{`{"runtime":""}`, `{"runtime":7}`, `{"runtime":"` + strings.Repeat("x", 101) + `"}`} {
		if answer := b.send(http.MethodPost, "/api/sessions", "application/json", body); answer.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, answer.Code)
		}
	}
	b.sessions.fail = &session.UnknownRuntimeError{Runtime: "cohdex", Known: []string{"codex", "other"}}
	unknown := b.send(http.MethodPost, "/api/sessions", "application/json", `{"runtime":"cohdex"}`)
	if text := unknown.Body.String(); unknown.Code != http.StatusBadRequest || !strings.Contains(text, "codex, other") || !strings.Contains(text, `"path":["runtime"]`) {
		t.Errorf("%d %s", unknown.Code, text)
	}
	b.sessions.fail = fmt.Errorf("%w: other is missing: install it", runtime.ErrUnavailable)
	away := b.send(http.MethodPost, "/api/sessions", "application/json", `{"runtime":"other"}`)
	if text := away.Body.String(); away.Code != http.StatusServiceUnavailable || !strings.Contains(text, "install it") || !strings.Contains(text, "runtime_unavailable") {
		t.Errorf("%d %s", away.Code, text)
	}
}

// A list is of one runtime when asked for.
func TestListOfARuntime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if b.send(http.MethodGet, "/api/sessions?runtime=other&q=x", "", ""); b.sessions.listed.Runtime != "other" || b.sessions.listed.Text != "x" {
		t.Errorf("listed %+v", b.sessions.listed)
	}
	if answer := b.send(http.MethodGet, "/api/sessions?runtime=", "", ""); answer.Code != http.StatusBadRequest {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
