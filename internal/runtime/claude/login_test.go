package claude_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/claude"
)

// provider replaces the hosts of Claude Code's login: a proxy that answers for them.
type provider struct {
	certificate tls.Certificate
	file        string // the certificate, for NODE_EXTRA_CA_CERTS
	url         string

	mu    sync.Mutex
	asked []string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"platform.claude.com", "claude.ai", "claude.com", "api.anthropic.com", "console.anthropic.com"}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{certificate: tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key},
		file: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(p.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(p.connect))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// connect takes over a connection to a host, and answers its requests.
func (p *provider) connect(w http.ResponseWriter, request *http.Request) {
	raw, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = raw.Close() }()
	if _, err := io.WriteString(raw, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	conn := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{p.certificate}, MinVersion: tls.VersionTLS12})
	for reader := bufio.NewReader(conn); ; {
		asked, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(asked.Body)
		status, answer := p.answer(request.Host+asked.URL.Path, string(body))
		response := http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(answer)),
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer))}
		if response.Write(conn) != nil {
			return
		}
	}
}

func (p *provider) answer(where, body string) (int, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, where+" "+body)
	switch {
	case strings.HasSuffix(where, "/oauth/token") && strings.Contains(body, "a-good-code"):
		return http.StatusOK, `{"token_type":"Bearer","access_token":"sk-ant-oat01-planted","refresh_token":"sk-ant-ort01-planted",` +
			`"expires_in":3600,"scope":"user:inference user:profile","account":{"uuid":"a","email_address":"a@example.com"},` +
			`"organization":{"uuid":"o","name":"o"}}`
	case strings.HasSuffix(where, "/oauth/token"):
		return http.StatusBadRequest, `{"error":"invalid_grant","error_description":"no such code"}`
	}
	return http.StatusNotFound, `{}`
}

// A login starts without a local screen, and ends with the code that a user enters. The real Claude Code sends the
// code to its provider, and finds the login from then on. RA-07
func TestALoginEndsWithACode(t *testing.T) {
	t.Parallel()
	provider := newProvider(t)
	s := prepared(t, open(), func(g *rig) {
		_, port, err := net.SplitHostPort(strings.TrimPrefix(provider.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		g.setup.Launch.Env = append(slices.DeleteFunc(g.setup.Launch.Env, func(variable string) bool {
			return strings.HasPrefix(variable, "ANTHROPIC_API_KEY=")
		}), "HTTPS_PROXY=http://localhost:"+port, "NO_PROXY=127.0.0.1", "NODE_EXTRA_CA_CERTS="+provider.file)
	})
	agent := s.Adapter.(*claude.Runtime)
	state := func() runtime.AuthState {
		t.Helper()
		found, err := agent.Auth(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return found.State
	}
	begin := func() (login runtime.Login, page *url.URL) {
		t.Helper()
		login, err := agent.Login(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		page, err = url.Parse(login.URL)
		if err != nil || !login.ExpectsCode || login.ID == "" || page.Scheme != "https" || page.Query().Get("state") == "" {
			t.Fatalf("it is %+v, %v", login, err)
		}
		return login, page
	}
	given, _ := begin()
	login, _ := begin()
	for id, code := range map[string]string{given.ID: "a-good-code", login.ID: " # "} {
		if err := agent.FinishLogin(t.Context(), id, code); err == nil || state() != runtime.AuthMissing {
			t.Errorf("%q: %v; its credentials are %s", code, err, state())
		}
	}
	if err := agent.FinishLogin(t.Context(), login.ID, "a-bad-code"); !errors.Is(err, runtime.ErrInvalidState) ||
		state() != runtime.AuthMissing {
		t.Errorf("a code that is not taken: %v; its credentials are %s", err, state())
	}
	login, page := begin()
	if err := agent.FinishLogin(t.Context(), login.ID, "a-good-code#"+page.Query().Get("state")+"\n"); err != nil {
		t.Errorf("it was not taken: %v; %s", err, strings.Join(provider.asked, "\n"))
	}
	if state() != runtime.AuthFound {
		t.Errorf("after it its credentials are %s", state())
	}
	thread, err := s.StartThread(t.Context(), s.controls)
	if err != nil {
		t.Fatal(err)
	}
	s.thread = thread.ID
	if end, _ := s.turn("MOCK_REPLY[in]"); end.Status != runtime.TurnDone {
		t.Errorf("a turn with it ended %+v", end)
	}
}
