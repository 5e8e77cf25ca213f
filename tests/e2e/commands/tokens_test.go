package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// by sends a request with a token ("" for none) and returns the status and the body.
func by(i *programtest.Server, token, method, path string, body any) (int, string) {
	i.T.Helper()
	response := open(i, i.T.Context(), token, method, path, body)
	raw, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		i.T.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

// open is by for a streaming response, until ctx ends or its body is closed.
func open(i *programtest.Server, ctx context.Context, token, method, path string, body any) *http.Response {
	i.T.Helper()
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			i.T.Fatal(err)
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, i.URL+path, reader)
	if err != nil {
		i.T.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := i.Client().Do(request)
	if err != nil {
		i.T.Fatalf("%s %s: %v", method, path, err)
	}
	return response
}

// requireBy is by for an expected status. It returns the decoded response.
func requireBy(i *programtest.Server, token string, status int, method, path string, body any) programtest.Object {
	i.T.Helper()
	got, raw := by(i, token, method, path, body)
	var decoded programtest.Object
	if err := json.Unmarshal([]byte(raw), &decoded); got != status || err != nil {
		i.T.Fatalf("%s %s answered %d %s, want %d (%v)", method, path, got, raw, status, err)
	}
	return decoded
}

// newToken creates a named token and returns its id and secret.
func newToken(i *programtest.Server, by string, body programtest.Object) (id, secret string) {
	i.T.Helper()
	made := requireBy(i, by, http.StatusOK, http.MethodPost, "/api/tokens", body)
	return programtest.Text(made, "token", "id"), programtest.Text(made, "secret")
}

// opened is everything that a token keeps open.
type opened struct {
	sockets map[string]*websocket.Conn
	events  io.ReadCloser
}

func openBy(i *programtest.Server, token, session string) opened {
	i.T.Helper()
	o := opened{sockets: map[string]*websocket.Conn{}}
	for name, way := range map[string]struct {
		path    string
		options websocket.DialOptions
	}{
		"stream": {"/api/stream",
			websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}}},
		"stream's query": {"/api/stream?access_token=" + token, websocket.DialOptions{}},
		"rpc":            {"/rpc", websocket.DialOptions{Subprotocols: []string{"jsonrpc", "bearer." + token}}},
		"ws":             {"/ws", websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}}},
	} {
		conn, _, err := websocket.Dial(i.T.Context(), "ws"+strings.TrimPrefix(i.URL, "http")+way.path, &way.options)
		if err != nil {
			i.T.Fatalf("%s: %v", name, err)
		}
		i.T.Cleanup(func() { _ = conn.CloseNow() })
		o.sockets[name] = conn
	}
	response := open(i, i.T.Context(), token, http.MethodGet, "/v1/sessions/"+session+"/events?stream=1", nil)
	if response.StatusCode != http.StatusOK {
		i.T.Fatalf("the stream of events is answered %d", response.StatusCode)
	}
	o.events = response.Body
	i.T.Cleanup(func() { _ = response.Body.Close() })
	return o
}

// requireWithdrawn waits until all of it is closed for lack of access.
func (o opened) requireWithdrawn(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	for name, conn := range o.sockets {
		err := error(nil)
		for err == nil {
			_, _, err = conn.Read(ctx)
		}
		if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s ended with %v", name, err)
		}
	}
	all, err := io.ReadAll(o.events)
	if err != nil || !strings.Contains(string(all), "access was withdrawn") {
		t.Errorf("the events ended with %v: %s", err, all)
	}
}

// A named token has the rights of its role on every interface, until it is revoked, expires or gets another role.
// Then the server immediately closes its open connections. It survives a restart. Its secret is stored nowhere.
func TestNamedTokens(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const owner = "the-token-of-the-only-owner"
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("HARNESS_AUTH_TOKEN="+owner, "LOG_LEVEL=debug"))
			i := s.Start()
			secrets, ids := map[string]string{}, map[string]string{}
			for _, role := range []string{"viewer", "ci", "operator", "admin"} {
				ids[role], secrets[role] = newToken(i, owner, programtest.Object{"name": "a-" + role, "role": role})
			}
			_, short := newToken(i, secrets["admin"],
				programtest.Object{"name": "short", "role": "viewer", "expiresAt": time.Now().Add(5 * time.Second).UTC().
					Format(time.RFC3339Nano)})
			secrets["short"] = short
			session := programtest.Text(requireBy(i, secrets["operator"], http.StatusOK, http.MethodPost, "/api/sessions", programtest.Object{}),
				"session", "sessionId")
			one := "/api/sessions/" + session
			entry := programtest.Object{"messageId": "m-1", "turnId": "t", "role": "system", "type": "note", "content": "tests pass",
				"status": "complete"}
			for _, c := range []struct {
				role, method, path string
				body               any
				status             int
			}{
				{"ci", http.MethodPost, one + "/transcript/upsert", entry, 200},
				{"ci", http.MethodGet, one, nil, 403},
				{"ci", http.MethodGet, "/api/stream", nil, 403},
				{"ci", http.MethodGet, "/api/health", nil, 200},
				{"viewer", http.MethodGet, one, nil, 200},
				{"viewer", http.MethodPost, one + "/rename", programtest.Object{"title": "x"}, 403},
				{"viewer", http.MethodGet, "/v1/sessions/" + session, nil, 200},
				{"viewer", http.MethodPost, "/v1/sessions/" + session + "/tasks", programtest.Object{}, 403},
				{"viewer", http.MethodPost, "/rpc", programtest.Object{"jsonrpc": "2.0", "id": 1, "method": "status/get"}, 200},
				{"ci", http.MethodPost, "/rpc", programtest.Object{"jsonrpc": "2.0", "id": 1, "method": "status/get"}, 403},
				{"operator", http.MethodPost, one + "/rename", programtest.Object{"title": "x"}, 200},
				{"operator", http.MethodGet, "/api/tokens", nil, 403},
				{"viewer", http.MethodPost, "/api/agents/extensions/reload", nil, 403},
			} {
				if status, body := by(i, secrets[c.role], c.method, c.path, c.body); status != c.status {
					t.Errorf("%s %s by %s: %d %s", c.method, c.path, c.role, status, body)
				}
			}
			for _, wrong := range []string{"", "hrn_wrong", secrets["admin"] + "x"} {
				if status, body := by(i, wrong, http.MethodGet, one, nil); status != http.StatusUnauthorized {
					t.Errorf("with %q: %d %s", wrong, status, body)
				}
			}
			i.Eventually("the short one expires", func() bool {
				status, _ := by(i, short, http.MethodGet, "/api/projects", nil)
				return status == http.StatusUnauthorized
			})

			open := openBy(i, secrets["operator"], session)
			requireBy(i, secrets["admin"], http.StatusOK, http.MethodPatch, "/api/tokens/"+ids["operator"],
				programtest.Object{"role": "viewer"})
			open.requireWithdrawn(t)
			if status, _ := by(i, secrets["operator"], http.MethodPost, one+"/rename", programtest.Object{"title": "y"}); status != 403 {
				t.Errorf("a lowered role still renames: %d", status)
			}
			open = openBy(i, secrets["operator"], session)
			other := openBy(i, secrets["viewer"], session)
			requireBy(i, owner, http.StatusOK, http.MethodDelete, "/api/tokens/"+ids["operator"], nil)
			open.requireWithdrawn(t)
			if err := other.sockets["stream"].Ping(readsOf(t, other.sockets["stream"])); err != nil {
				t.Errorf("another token's socket was closed, too: %v", err)
			}
			if status, body := by(i, secrets["operator"], http.MethodGet, one, nil); status != 401 ||
				strings.Contains(body, "hrn_") {
				t.Errorf("a revoked token is answered %d %s", status, body)
			}

			listed := requireBy(i, secrets["admin"], http.StatusOK, http.MethodGet, "/api/tokens", nil)
			i.Stop()
			first := i
			i = s.Start()
			if again := requireBy(i, secrets["admin"], http.StatusOK, http.MethodGet, "/api/tokens", nil); len(
				again["data"].([]any)) != 5 {
				t.Errorf("after a restart there are %v", again)
			}
			if status, _ := by(i, secrets["operator"], http.MethodGet, one, nil); status != http.StatusUnauthorized {
				t.Errorf("after a restart a revoked token is answered %d", status)
			}
			i.Stop()
			for role, secret := range secrets {
				raw, err := json.Marshal(listed)
				if err != nil || strings.Contains(string(raw), secret) || first.Logged(secret) || i.Logged(secret) {
					t.Errorf("the secret of %s shows in the list or the log (%v)", role, err)
				}
				if engine == database.SQLite {
					requireNowhere(t, s.DataDir, secret)
				}
			}
		})
	}
}

// readsOf reads a socket in the background, which a ping requires, and returns a context with a time limit for that.
func readsOf(t *testing.T, conn *websocket.Conn) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	t.Cleanup(cancel)
	go func() {
		for err := error(nil); err == nil; {
			_, _, err = conn.Read(ctx)
		}
	}()
	return ctx
}

// requireNowhere searches for a text in every file of a folder.
func requireNowhere(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("%s has a secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Without the owner's token, users of this machine need none, but a named token gives only its own rights. The
// command line creates, lists, changes and revokes named tokens.
func TestTokensOnTheCommandLine(t *testing.T) {
	t.Parallel()
	i := programtest.New(t).Start()
	u := &terminal{i, t, []string{"HARNESS_URL=" + i.URL}}
	secret := u.must("tokens", "create", "nightly", "--role", "viewer", "--expires", "90d", "-q")
	if status, _ := by(i, secret, http.MethodGet, "/api/projects", nil); status != http.StatusOK {
		t.Errorf("the new token is answered %d", status)
	}
	if status, _ := by(i, secret, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}); status != http.StatusForbidden {
		t.Errorf("a viewer makes a project: %d", status)
	}
	if status, _ := by(i, "", http.MethodPost, "/api/projects", programtest.Object{"name": "p"}); status != http.StatusOK {
		t.Errorf("a local user does not: %d", status)
	}
	if listed := u.must("tokens", "list"); !strings.Contains(listed, "nightly") || !strings.Contains(listed, "active") {
		t.Errorf("listed is %s", listed)
	}
	// Who may read sees prices; only an administrator sets them. MO-03
	price := programtest.Object{"model": "m", "inputMicros": 1, "cachedInputMicros": 1, "outputMicros": 1}
	if status, _ := by(i, secret, http.MethodPost, "/api/prices", price); status != http.StatusForbidden {
		t.Errorf("a viewer sets a price: %d", status)
	}
	requireBy(i, secret, http.StatusOK, http.MethodGet, "/api/prices", nil)
	id := strings.TrimSpace(u.must("prices", "set", "own-model*", "--input", "1.25", "--cached", "0.125", "--output", "10",
		"--from", "2026-01-02"))
	if listed := strings.Join(strings.Fields(u.must("prices", "list")), " "); !strings.Contains(listed,
		"own-model* 2026-01-02 1.25 0.125 10 local") || !strings.Contains(listed, "built in") {
		t.Errorf("the prices are %s", listed)
	}
	u.must("prices", "remove", id)
	if listed := u.must("prices", "list"); strings.Contains(listed, "own-model") {
		t.Errorf("a removed price is listed: %s", listed)
	}
	if audit := u.must("audit", "export"); strings.Count(audit, "price.set") != 1 || strings.Count(audit, "price.removed") != 1 {
		t.Errorf("the audit log has %s", audit)
	}
	u.must("tokens", "role", "nightly", "admin")
	if status, _ := by(i, secret, http.MethodGet, "/api/tokens", nil); status != http.StatusOK {
		t.Errorf("an admin's token is answered %d", status)
	}
	u.must("tokens", "revoke", "nightly")
	if status, _ := by(i, secret, http.MethodGet, "/api/projects", nil); status != http.StatusUnauthorized {
		t.Errorf("a revoked token is answered %d", status)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"tokens", "create", "x"}, 1, "role"},
		{[]string{"tokens", "create", "x", "--role", "king"}, 1, "role"},
		{[]string{"tokens", "create", "x", "--role", "ci", "--expires", "soon"}, 2, "90d"},
		{[]string{"tokens", "revoke", "nightly"}, 1, "tokens list"},
		{[]string{"prices", "set", "m", "--input", "1", "--cached", "0.1"}, 2, "--output is required"},
		{[]string{"prices", "remove", "unknown"}, 1, "no price"},
	} {
		code, stdout, stderr := u.run("", c.args...)
		if code == 0 || c.code == 2 && code != 2 || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: %d %s%s", c.args, code, stdout, stderr)
		}
	}
	i.Stop()
}
