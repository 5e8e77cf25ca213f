package access

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"

	"harness/tests/programtest"
)

// dialled returns the outcome of a socket's handshake with a token.
func dialled(server *programtest.Server, path, token string) int {
	server.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	conn, answer, err := websocket.Dial(ctx, server.URL+path, &websocket.DialOptions{HTTPClient: server.Client(),
		Subprotocols: []string{"bearer." + token}})
	if answer == nil {
		server.T.Fatal(err)
	}
	if err == nil {
		_ = conn.CloseNow()
	}
	return answer.StatusCode
}

// Claims in the format of Keycloak, Entra and Auth0 give their role on every interface: REST, both sockets, the task
// API, JSON-RPC by POST, a browser's login and the extension routes. Without a known role, every interface refuses
// the caller.
func TestRoleClaimsAtEveryDoor(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-this-test-is-long-enough"
	type shape struct {
		name      string
		claims    jwt.MapClaims
		role      string // as GET /api/me says it; "" is refused
		extension int    // status of the extension routes
	}
	keycloak := func(roles ...any) jwt.MapClaims {
		return jwt.MapClaims{"realm_access": map[string]any{"roles": []any{"offline_access", "owner"}},
			"resource_access": map[string]any{"harness": map[string]any{"roles": roles}}}
	}
	for claim, shapes := range map[string][]shape{
		"resource_access.harness.roles": {
			{"Keycloak's admin", keycloak("uma_authorization", "member", "admin"), "admin", http.StatusOK},
			{"Keycloak's engineer", keycloak("engineers"), "operator", http.StatusForbidden},
			{"Keycloak's stranger", keycloak("uma_authorization"), "", http.StatusForbidden},
		},
		"roles": {
			{"Entra's reader", jwt.MapClaims{"roles": []any{"Harness.Reader"}, "ver": "2.0"}, "viewer", http.StatusOK},
			{"Entra's two roles", jwt.MapClaims{"roles": []any{"Harness.Reader", "engineers"}}, "operator", http.StatusOK},
			{"Entra's stranger", jwt.MapClaims{"groups": []any{"admin"}}, "", http.StatusForbidden},
		},
		"https://example.com/roles": {
			{"Auth0's list", jwt.MapClaims{"https://example.com/roles": []any{"editor", "owner"}}, "owner", http.StatusOK},
			{"Auth0's text", jwt.MapClaims{"https://example.com/roles": "member"}, "viewer", http.StatusOK},
			{"Auth0's stranger", jwt.MapClaims{"https://example.com/roles": []any{}, "role": "admin"}, "", http.StatusForbidden},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex", "AGENT_EXTENSION_RBAC_MODE=jwt",
				"AGENT_EXTENSION_RBAC_JWT_SECRET="+key, "AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM="+claim,
				"HARNESS_ROLE_MAP=engineers=operator,Harness.Reader=viewer")).Start()
			for _, one := range shapes {
				one.claims["sub"], one.claims["exp"] = "ann", time.Now().Add(time.Hour).Unix()
				token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, one.claims).SignedString([]byte(key))
				if err != nil {
					t.Fatal(err)
				}
				checkDoors(server, one.name, token, one.role, one.extension)
			}
			server.Stop()
		})
	}
}

func checkDoors(server *programtest.Server, name, token, role string, extension int) {
	t := server.T
	t.Helper()
	bearer := map[string]string{"Authorization": "Bearer " + token}
	expect := func(door string, status int, body string, want int, says string) {
		t.Helper()
		if status != want || !strings.Contains(body, says) {
			t.Errorf("%s at %s: %d %s, want %d %s", name, door, status, body, want, says)
		}
	}
	open, socket, shut := http.StatusOK, http.StatusSwitchingProtocols, ""
	if role == "" {
		open, socket, shut = http.StatusForbidden, http.StatusForbidden, "invalid_role_claim"
	}
	says := shut
	if role != "" {
		says = `"role":"` + role + `"`
	}
	status, body := server.Ask(http.MethodGet, "/api/me", bearer)
	expect("REST", status, body, open, says)
	status, body = server.Ask(http.MethodGet, "/v1/sessions", bearer)
	expect("the task API", status, body, open, shut)
	status, body = server.Ask(http.MethodGet, "/rpc/openrpc.json", bearer)
	expect("JSON-RPC", status, body, open, shut)
	for _, path := range []string{"/api/stream", "/rpc", "/ws"} {
		expect(path, dialled(server, path, token), "", socket, "")
	}
	answer, err := http.Post(server.URL+"/api/login", "application/json", strings.NewReader(`{"token":"`+token+`"}`)) //nolint:noctx // the test's patience bounds it
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	expect("login", answer.StatusCode, "", open, "")
	status, body = server.Ask(http.MethodGet, "/api/agents/extensions", bearer)
	if extension != http.StatusOK {
		shut = "invalid_role_claim"
	}
	expect("the extension routes", status, body, extension, shut)
	if role == "viewer" { // the server enforces the role, and does not only show it
		status, body = server.Ask(http.MethodPost, "/api/sessions", bearer)
		expect("a write", status, body, http.StatusForbidden, "insufficient_role")
		status, body = server.Ask(http.MethodPost, "/v1/sessions", bearer)
		expect("a write of the task API", status, body, http.StatusForbidden, "insufficient_role")
	}
}
