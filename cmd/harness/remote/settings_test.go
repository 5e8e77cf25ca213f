package remote

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The defaults of new sessions are shown without a session; a session's own settings need one.
func TestDefaultsBelongToNoSession(t *testing.T) {
	for _, name := range []string{"HARNESS_URL", "HARNESS_TOKEN", "HARNESS_TOKEN_FILE", "HARNESS_PROFILE"} {
		t.Setenv(name, "")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + " " + r.URL.String() {
		case "GET /api/server/settings":
			_, _ = w.Write([]byte(`{"data":[],"defaults":{"model":null,"settings":{"theme":"dark","n":3}},"defaultsEditable":true}`))
		case "GET /api/sessions/s1/settings?scope=default&key=theme", "GET /api/sessions/s1/settings?key=theme&scope=default":
			_, _ = w.Write([]byte(`{"status":"ok","sessionId":"s1","scope":"default","key":"theme","found":true,"value":"of the session's route"}`))
		default:
			t.Errorf("asked was %s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	for line, want := range map[string]string{
		"settings get --defaults":                 "SETTING  VALUE\nn        3\ntheme    \"dark\"\n",
		"settings get theme --defaults":           "\"dark\"\n",
		"settings get s1 theme --defaults":        "\"of the session's route\"\n",
		"settings get --defaults -o json":         `{"scope":"default","settings":{"n":3,"theme":"dark"},"status":"ok"}` + "\n",
		"settings get theme --defaults -o json":   `{"found":true,"key":"theme","scope":"default","status":"ok","value":"dark"}` + "\n",
		"settings get nothing --defaults -o json": `{"found":false,"key":"nothing","scope":"default","status":"ok"}` + "\n",
	} {
		if out, err := command(t, "", append(strings.Fields(line), "--url", server.URL)...); err != nil || out != want {
			t.Errorf("%s: %q, %v, want %q", line, out, err, want)
		}
	}
	if _, err := command(t, "", "settings", "get", "nothing", "--defaults", "--url", server.URL); err == nil ||
		!strings.Contains(err.Error(), "no setting nothing") {
		t.Errorf("a default that is not there: %v", err)
	}
	wrong := (*UsageError)(nil)
	if _, err := command(t, "", "settings", "get", "--url", server.URL); !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "SESSION is missing") || !strings.Contains(err.Error(), "--defaults") {
		t.Errorf("without a session: %v", err)
	}
}
