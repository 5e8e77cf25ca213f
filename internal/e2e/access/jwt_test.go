package access

import (
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/programtest"
)

// Tokens that never expire are accepted as by codex-manager, with one warning at start, and refused when the operator
// says so.
func TestTokensWithoutExpiry(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-this-test-is-long-enough"
	forEver, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ci", "role": "admin"}).
		SignedString([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	for _, required := range []bool{false, true} {
		env := []string{"CODEX_BIN=/nowhere/codex", "AGENT_EXTENSION_RBAC_MODE=jwt", "AGENT_EXTENSION_RBAC_JWT_SECRET=" + key}
		status, warnings := http.StatusOK, 1
		if required {
			env = append(env, "AGENT_EXTENSION_RBAC_JWT_REQUIRE_EXP=true")
			status, warnings = http.StatusUnauthorized, 0
		}
		server := programtest.New(t, programtest.WithEnv(env...)).Start()
		got, body := server.Ask(http.MethodGet, "/api/agents/extensions",
			map[string]string{"Authorization": "Bearer " + forEver})
		if got != status || strings.Contains(body, "missing_exp_claim") != required {
			t.Errorf("exp required %v: answered %d %s", required, got, body)
		}
		server.Stop()
		if n := strings.Count(server.LogTail(), "AGENT_EXTENSION_RBAC_JWT_REQUIRE_EXP"); n != warnings {
			t.Errorf("exp required %v: %d warnings", required, n)
		}
	}
}
