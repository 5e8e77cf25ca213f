package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/tests/programtest"
)

// unfenced are the settings of a server that its agents can connect to.
const unfenced = "HARNESS_RUNTIME_CONFINE=off"

// at makes the commands of a site find its server at its port.
func at(s *programtest.Server) {
	s.T.Helper()
	address, err := url.Parse(s.URL)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Env = append(s.Env, "PORT="+address.Port())
}

// owner returns the owner's token, as the site shows it.
func owner(s *programtest.Site) string {
	s.T.Helper()
	return strings.TrimSpace(s.MustRun("token"))
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// A server that agents can connect to admits no client without a token. Its log, health and pages report this. Its
// owner still has access.
func TestTheOwnerComesInWhereLoopbackIsNotTrusted(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced))
	if code, _, stderr := s.Run("token"); code != 1 || !strings.Contains(stderr, "harness serve") {
		t.Errorf("before the first start: %d %s", code, stderr)
	}
	server := s.Start()
	at(server)
	for _, path := range []string{"/api/sessions", "/api/stream", "/v1/sessions", "/api/agents/extensions", "/metrics", "/api/me"} {
		status, body := server.Ask(http.MethodGet, path, nil)
		if status != http.StatusUnauthorized {
			t.Errorf("GET %s without a token: %d %s", path, status, body)
		}
		for _, want := range []string{"HARNESS_RUNTIME_CONFINE=off", "`harness open`", "`harness token`", "HARNESS_TRUST_LOCAL=true"} {
			if !strings.Contains(body, want) {
				t.Errorf("the 401 of %s does not say %s: %s", path, want, body)
			}
		}
	}
	for _, path := range []string{"/rpc", "/api/login/links"} {
		if status, _ := server.Call(http.MethodPost, path, programtest.Object{"jsonrpc": "2.0", "id": 1, "method": "x"}); status !=
			http.StatusUnauthorized {
			t.Errorf("POST %s without a token: %d", path, status)
		}
	}
	if _, ready := server.Call(http.MethodGet, "/readyz", nil); !strings.Contains(fmt.Sprint(ready["access"]), "HARNESS_TRUST_LOCAL") {
		t.Errorf("readiness says of access: %v", ready["access"])
	}
	if !server.Logged("local programs need a token", "harness open") {
		t.Error("serve does not say that a token is needed")
	}
	if _, found := s.Command("doctor"); !strings.Contains(found, "local programs need a token because HARNESS_RUNTIME_CONFINE=off") {
		t.Errorf("the doctor says:\n%s", found)
	}
	secret := owner(s)
	if status, me := server.Ask(http.MethodGet, "/api/me", bearer(secret)); status != http.StatusOK || !strings.Contains(me, `"role":"owner"`) {
		t.Errorf("the owner is %d %s", status, me)
	}
	if code, out, stderr := s.Run("sessions", "list"); code != 0 {
		t.Errorf("a command of this machine: %d %s%s", code, out, stderr)
	}
	if code, _, stderr := s.Run("sessions", "list", "--url", "http://127.0.0.1:1"); code == 0 || strings.Contains(stderr, secret) {
		t.Errorf("another server: %d %s", code, stderr)
	}
	if files, err := filepath.Glob(filepath.Join(s.DataDir, "*")); err != nil || len(files) == 0 {
		t.Fatal(files, err)
	} else {
		for _, file := range files {
			if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), secret) { //nolint:gosec // a test's own
				t.Errorf("%s has the token", file)
			}
		}
	}
	if strings.Contains(server.Log(), secret) || strings.Contains(server.Log(), "hrk_") {
		t.Error("the log has a secret")
	}
	server.Stop()
	trusting := s.Start("HARNESS_TRUST_LOCAL=true")
	if status, body := trusting.Ask(http.MethodGet, "/api/sessions", nil); status != http.StatusOK {
		t.Errorf("with HARNESS_TRUST_LOCAL=true: %d %s", status, body)
	}
	trusting.Stop()
}

// A program sends the owner's token only to the server in its configuration, because another listener on this machine
// may belong to an agent.
func TestTheOwnersTokenGoesToItsServerAlone(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced))
	server := s.Start()
	at(server)
	shown := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case shown <- r.Header.Get("Authorization"):
		default:
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer other.Close()
	s.Run("sessions", "list", "--url", other.URL)
	if token := <-shown; token != "" {
		t.Errorf("the server at another port is shown %q", token)
	}
	server.Stop()
}

// A link of harness open logs a browser in once. The audit log names its creator and does not contain the link.
func TestALinkCountsOnce(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced))
	server := s.Start()
	at(server)
	link := strings.TrimSpace(s.MustRun("open", "--print"))
	page, code, is := strings.Cut(link, "#link=")
	if !is || page != server.URL+"/login" {
		t.Fatalf("the link is %s", link)
	}
	login := func() (int, programtest.Object) {
		return server.Call(http.MethodPost, "/api/login", programtest.Object{"token": code})
	}
	if status, me := login(); status != http.StatusOK || me["role"] != "owner" {
		t.Errorf("the first login: %d %v", status, me)
	}
	if status, me := login(); status != http.StatusUnauthorized || me["code"] != "link_not_valid" {
		t.Errorf("the second login: %d %v", status, me)
	}
	if status, body := server.Ask(http.MethodGet, "/api/sessions", bearer(code)); status != http.StatusUnauthorized {
		t.Errorf("the link as a token: %d %s", status, body)
	}
	secret := owner(s)
	server.Headers = bearer(secret)
	viewer := server.Want(http.StatusOK, http.MethodPost, "/api/tokens", programtest.Object{"name": "v", "role": "operator"})
	server.Headers = nil
	if status, body := server.Ask(http.MethodPost, "/api/login/links", bearer(programtest.Text(viewer, "secret"))); status != http.StatusForbidden {
		t.Errorf("an operator makes a link: %d %s", status, body)
	}
	server.Stop()
	rows, log := requestsOf(t, s)
	if strings.Contains(log, code) || strings.Contains(log, secret) {
		t.Error("the audit log has a secret")
	}
	want := asked{"token", "owner", "POST /api/login/links", "ok", http.StatusCreated}
	if !slices.Contains(rows, want) {
		t.Errorf("the audit log has not %s: %v", want, rows)
	}
}

// Agents can read the command lines of programs. A browser therefore gets a page readable only by the user, and not
// the link.
func TestALinkIsInNoCommandLine(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced))
	server := s.Start()
	at(server)
	programs, seen := t.TempDir(), filepath.Join(t.TempDir(), "seen")
	script := "#!/bin/sh\nprintf '%s\\n' \"$*\" > " + seen + "\nstat -c %a \"$1\" >> " + seen + "\ncat \"$1\" >> " + seen + "\n"
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	s.Env = append(s.Env, "DISPLAY=:0", "PATH="+programs+":"+os.Getenv("PATH"))
	link := strings.TrimSpace(s.MustRun("open"))
	said, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	arguments, page, _ := strings.Cut(string(said), "\n")
	if strings.Contains(arguments, "hrk_") || !strings.HasPrefix(page, "600\n") || !strings.Contains(page, `0;url=`+link+`"`) {
		t.Errorf("the browser is started with %s, and the page is %s", arguments, page)
	}
	server.Stop()
}

// A new token revokes the old one and its sessions, without a restart.
func TestARenewedTokenEndsTheOldOne(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced))
	server := s.Start()
	at(server)
	old := owner(s)
	follower := server.Follow("access_token=" + old)
	fresh := strings.TrimSpace(s.MustRun("token", "--renew"))
	if fresh == old || owner(s) != fresh {
		t.Fatalf("renewed: %s", fresh)
	}
	select {
	case <-follower.Ended:
	case <-time.After(programtest.Patience):
		t.Error("the socket of the old token stays open")
	}
	if status, _ := server.Ask(http.MethodGet, "/api/sessions", bearer(old)); status != http.StatusUnauthorized {
		t.Errorf("the old token: %d", status)
	}
	if status, _ := server.Ask(http.MethodGet, "/api/sessions", bearer(fresh)); status != http.StatusOK {
		t.Errorf("the new token: %d", status)
	}
	server.Stop()
}

// For a server that cannot store a token, the operator creates one by hand while it runs.
func TestATokenWithoutAHome(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced, "HOME=/dev/null"))
	server := s.Start()
	at(server)
	if !server.Logged("harness token --renew") {
		t.Error("serve does not say that there is no token")
	}
	if code, _, stderr := s.Run("token"); code != 1 || !strings.Contains(stderr, "harness token --renew") {
		t.Errorf("harness token: %d %s", code, stderr)
	}
	code, secret, stderr := s.Run("token", "--renew")
	if code != 0 || !strings.Contains(stderr, "keep it yourself") {
		t.Fatalf("harness token --renew: %d %s", code, stderr)
	}
	if status, body := server.Ask(http.MethodGet, "/api/sessions", bearer(strings.TrimSpace(secret))); status != http.StatusOK {
		t.Errorf("the token: %d %s", status, body)
	}
	server.Stop()
}

// After a kill at any moment of the first start, the owner has access on the next start.
func TestTheOwnerComesInAfterAKillAtTheFirstStart(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced))
	server := s.Start()
	server.Kill()
	<-server.Exited
	// A kill leaves this state if the token is in place and its hash is not.
	if err := os.Remove(filepath.Join(s.DataDir, "owner-token.sha256")); err != nil {
		t.Fatal(err)
	}
	server = s.Start()
	if status, body := server.Ask(http.MethodGet, "/api/sessions", bearer(owner(s))); status != http.StatusOK {
		t.Errorf("the owner: %d %s", status, body)
	}
	server.Stop()
}

// Each server of a user has a separate token.
func TestTwoServersOfOneUser(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	one := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced, "HOME="+home))
	two := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced, "HOME="+home))
	first, second := one.Start(), two.Start()
	if files, err := os.ReadDir(filepath.Join(home, ".config", "harness", "owner")); err != nil || len(files) != 2 {
		t.Errorf("the folder of tokens has %v %v", files, err)
	}
	if status, _ := first.Ask(http.MethodGet, "/api/sessions", bearer(owner(one))); status != http.StatusOK {
		t.Errorf("the owner of the first: %d", status)
	}
	if status, _ := second.Ask(http.MethodGet, "/api/sessions", bearer(owner(one))); status != http.StatusUnauthorized {
		t.Errorf("the owner of the first at the second: %d", status)
	}
	first.Stop()
	second.Stop()
}

// All endpoints that accept a token share one rate limit for guesses.
func TestGuessesAreBraked(t *testing.T) {
	t.Parallel()
	const secret = "the-token-of-this-very-test"
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced, "HARNESS_AUTH_TOKEN="+secret))
	server := s.Start()
	random, wrong := owner(s), bearer("wrong")
	socket := func(token string) int {
		conn, answer, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/api/stream",
			&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
		if err == nil {
			_ = conn.CloseNow()
		}
		return answer.StatusCode
	}
	doors := map[string]func(token string) int{
		"REST": func(token string) int {
			status, _ := server.Ask(http.MethodGet, "/api/sessions", bearer(token))
			return status
		},
		"v1": func(token string) int {
			status, _ := server.Ask(http.MethodGet, "/v1/sessions", bearer(token))
			return status
		},
		"RPC": func(token string) int { status, _ := server.Ask(http.MethodPost, "/rpc", bearer(token)); return status },
		"extensions": func(token string) int {
			status, _ := server.Ask(http.MethodGet, "/api/agents/extensions", map[string]string{"X-Harness-Token": token})
			return status
		},
		"login": func(token string) int {
			status, _ := server.Call(http.MethodPost, "/api/login", programtest.Object{"token": token})
			return status
		},
		"socket": socket,
	}
	for name, door := range doors {
		if status := door("wrong"); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
			t.Errorf("%s: a wrong token is answered %d", name, status)
		}
		braked := func() bool { // the second may end during the guesses
			for range 10 {
				server.Ask(http.MethodGet, "/api/sessions", wrong)
			}
			status, body := server.Ask(http.MethodGet, "/api/sessions", wrong)
			return status == http.StatusTooManyRequests && strings.Contains(body, `"code":"too_many_guesses"`)
		}
		server.Eventually(name+" refuses a right token while guesses are braked", func() bool {
			return braked() && door(secret) == http.StatusTooManyRequests
		})
		for range 5 {
			if braked(); door(random) == http.StatusTooManyRequests {
				t.Errorf("%s refuses the owner's token, which cannot be guessed", name)
			}
		}
		server.Eventually(name+" takes a right token a moment later", func() bool {
			status := door(secret) // a malformed request got past the rate limit
			return status != http.StatusTooManyRequests && status != http.StatusUnauthorized
		})
	}
	for name, door := range doors {
		server.Eventually("guesses at "+name+" count", func() bool {
			for range 11 {
				if door("hro_wrong") == http.StatusTooManyRequests {
					return true
				}
			}
			return false
		})
	}
	if server.Headers = bearer(secret); !strings.Contains(server.Metrics(), "too_many_guesses") {
		t.Error("no metric counts what was braked")
	}
	server.Stop()
}

// The server refuses a weak token at startup.
func TestAShortTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent())
	s.Env = append(s.Env, "HARNESS_AUTH_TOKEN=twenty-three-characters")
	code, _, stderr := s.Run("serve")
	if code != 2 || !strings.Contains(stderr, "HARNESS_AUTH_TOKEN") || !strings.Contains(stderr, "at least 24") ||
		!strings.Contains(stderr, "openssl rand -hex 24") || strings.Contains(stderr, "twenty-three") {
		t.Errorf("serve ends with %d %s", code, stderr)
	}
	s.Env = append(s.Env, "HARNESS_AUTH_TOKEN=twenty-four-characters-1")
	server := s.Start()
	if status, me := server.Ask(http.MethodGet, "/api/me", bearer(owner(s))); status != http.StatusOK || !json.Valid([]byte(me)) {
		t.Errorf("the owner beside HARNESS_AUTH_TOKEN: %d %s", status, me)
	}
	server.Stop()
}
