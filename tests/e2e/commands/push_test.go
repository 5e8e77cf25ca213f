package commands

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/tests/programtest"
)

// browsers are the browsers of a test push service, by path.
type browsers struct {
	*httptest.Server
	paths chan string
	keys  programtest.Object
}

func newBrowsers(t *testing.T) *browsers {
	t.Helper()
	b := &browsers{paths: make(chan string, 100)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Encoding") != "aes128gcm" || !strings.HasPrefix(r.Header.Get("Authorization"), "vapid ") {
			t.Errorf("a push service is sent %v", r.Header)
		}
		w.WriteHeader(http.StatusCreated)
		b.paths <- r.URL.Path
	}))
	t.Cleanup(b.Close)
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	b.keys = programtest.Object{"p256dh": encode(private.PublicKey().Bytes()), "auth": encode(make([]byte, 16))}
	return b
}

// next returns the next browsers that get a message, sorted.
func (b *browsers) next(t *testing.T, n int) string {
	t.Helper()
	all := []string{}
	for range n {
		select {
		case path := <-b.paths:
			all = append(all, strings.TrimPrefix(path, "/canary-"))
		case <-time.After(time.Minute):
			t.Fatalf("only %v got one", all)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A browser gets the notifications that its subscription's access covers, while that access is valid. No response
// shows its address.
func TestABrowserGetsWhatItsAccessCovers(t *testing.T) {
	t.Parallel()
	const owner, key = "the-token-of-the-only-owner", "the-key-of-this-test-is-long-enough"
	service := newBrowsers(t)
	s := programtest.New(t, programtest.WithEnv("HARNESS_NOTIFY_PUSH_SERVICES="+service.URL, "HARNESS_NOTIFY_KINDS=approval.waiting",
		"AGENT_EXTENSION_RBAC_MODE=jwt", "AGENT_EXTENSION_RBAC_JWT_SECRET="+key, "HARNESS_AUTH_TOKEN="+owner))
	server := s.Start()
	project := programtest.Text(requireBy(server, owner, 200, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}),
		"project", "projectId")
	limited, limitedSecret := newToken(server, owner, programtest.Object{"name": "limited", "role": "viewer", "projects": []string{project}})
	_, plainSecret := newToken(server, owner, programtest.Object{"name": "plain", "role": "viewer"})
	_, ciSecret := newToken(server, owner, programtest.Object{"name": "ci", "role": "ci"})
	signed := func(who string, lives time.Duration) string {
		t.Helper()
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": who, "role": "member",
			"exp": time.Now().Add(lives).Unix()}).SignedString([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	subscribe := func(name, by string) {
		t.Helper()
		requireBy(server, by, 200, http.MethodPost, "/api/push",
			programtest.Object{"endpoint": service.URL + "/canary-" + name, "keys": service.keys})
	}
	subscribe("owner", owner)
	subscribe("limited", limitedSecret)
	subscribe("plain", plainSecret)
	subscribe("ann", signed("ann", time.Hour))
	short := signed("bob", -3*time.Second) // valid for two more seconds because of the leeway for clocks
	subscribe("bob", short)
	if status, body := by(server, ciSecret, http.MethodPost, "/api/push", programtest.Object{"endpoint": service.URL,
		"keys": service.keys}); status != http.StatusForbidden {
		t.Errorf("a token that may not read subscribes: %d %s", status, body)
	}
	server.Eventually("the short access is over", func() bool {
		status, _ := by(server, short, http.MethodGet, "/api/push", nil)
		return status == http.StatusUnauthorized
	})
	approval := func(project any) {
		t.Helper()
		made := requireBy(server, owner, 200, http.MethodPost, "/api/sessions", programtest.Object{"approvalPolicy": "untrusted"})
		id := programtest.Text(made, "session", "sessionId")
		if project != nil {
			requireBy(server, owner, 200, http.MethodPost, "/api/sessions/"+id+"/project", programtest.Object{"projectId": project})
		}
		requireBy(server, owner, 202, http.MethodPost, "/api/sessions/"+id+"/messages", programtest.Object{"text": "MOCK_CMD[echo knock]"})
	}
	approval(nil)
	if got := service.next(t, 3); got != "ann owner plain" {
		t.Errorf("of a session of no project %s got one", got)
	}
	approval(project)
	if got := service.next(t, 4); got != "ann limited owner plain" {
		t.Errorf("of a session of the project %s got one", got)
	}
	requireBy(server, owner, 200, http.MethodDelete, "/api/tokens/"+limited, nil)
	approval(project)
	if got := service.next(t, 3); got != "ann owner plain" {
		t.Errorf("after a token was revoked %s got one", got)
	}
	if status, body := by(server, plainSecret, http.MethodGet, "/api/push", nil); status != 200 ||
		strings.Count(body, "push_") != 1 || strings.Contains(body, "canary") {
		t.Errorf("the browsers of one are %d %s", status, body)
	}
	logged := server.Log()
	server.Kill()
	const next = "the-next-token-of-the-owner"
	s.Env = append(s.Env, "HARNESS_AUTH_TOKEN="+next)
	server = s.Start()
	approvalBy := requireBy(server, next, 200, http.MethodPost, "/api/sessions", programtest.Object{"approvalPolicy": "untrusted"})
	requireBy(server, next, 202, http.MethodPost, "/api/sessions/"+programtest.Text(approvalBy, "session", "sessionId")+"/messages",
		programtest.Object{"text": "MOCK_CMD[echo knock]"})
	if got := service.next(t, 2); got != "ann plain" {
		t.Errorf("after the owner's token was changed %s got one", got)
	}
	server.Eventually("the subscription of the token before is gone", func() bool {
		_, body := by(server, next, http.MethodGet, "/api/push", nil)
		return !strings.Contains(body, "push_")
	})
	for _, text := range []string{logged, server.Log()} {
		if strings.Contains(text, "canary") {
			t.Errorf("an address is in %s", text)
		}
	}
}
