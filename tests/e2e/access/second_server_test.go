package access

import (
	"net/http"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// A server that starts while another one is registered requires a token from programs of the machine, because the
// first server's agents have no fence for its port. It reports this and how to get access. The first server still
// trusts local programs.
func TestASecondServerWantsAToken(t *testing.T) {
	t.Parallel()
	runtimes := "XDG_RUNTIME_DIR=" + t.TempDir()
	site := programtest.New(t, programtest.WithoutAgent())
	first := programtest.New(t, programtest.WithoutAgent()).Start(runtimes)
	second := site.Start(runtimes)

	status, body := second.Ask(http.MethodGet, "/api/sessions", nil)
	for _, words := range []string{"another harness server", "harness open", "harness token", "HARNESS_TRUST_LOCAL=true"} {
		if status != http.StatusUnauthorized || !strings.Contains(body, words) {
			t.Errorf("the second answers %d %s, want 401 with %q", status, body, words)
		}
	}
	if _, ready := second.Ask(http.MethodGet, "/readyz", nil); !strings.Contains(ready, "another harness server") {
		t.Errorf("it does not say so in /readyz: %s", ready)
	}
	if !second.Logged("another harness server") {
		t.Error("its log does not say so")
	}
	if status, body := second.Ask(http.MethodGet, "/api/sessions",
		map[string]string{"Authorization": "Bearer " + strings.TrimSpace(site.MustRun("token"))}); status != http.StatusOK {
		t.Errorf("with the owner's token: %d %s", status, body)
	}
	if status, body := first.Ask(http.MethodGet, "/api/sessions", nil); status != http.StatusOK {
		t.Errorf("the first answers %d %s", status, body)
	}
	second.Stop()
	consenting := site.Start(runtimes, "HARNESS_TRUST_LOCAL=true")
	if status, body := consenting.Ask(http.MethodGet, "/api/sessions", nil); status != http.StatusOK {
		t.Errorf("with HARNESS_TRUST_LOCAL: %d %s", status, body)
	}
	consenting.Stop()
	first.Stop()
}
