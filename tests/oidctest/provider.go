package oidctest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"harness/tests/outside"
)

// Config is the configuration of a provider.
type Config struct {
	// Clients are in the format of RFC 7591.
	Clients []map[string]any `json:"clients"`
	// Accounts are claims by login name. Any password is valid.
	Accounts map[string]map[string]any `json:"accounts"`
	// Claims are the names of the additional claims in ID tokens.
	Claims []string `json:"claims"`
}

// Provider is a running provider.
type Provider struct {
	URL string
	t   testing.TB
}

// Start runs a provider until the test ends. It fails the test if the provider is not installed.
func Start(t testing.TB, config Config) *Provider {
	t.Helper()
	outside.Needs(t, "an OpenID Connect provider")
	if config.Claims == nil {
		config.Claims = []string{}
	}
	if config.Accounts == nil {
		config.Accounts = map[string]map[string]any{}
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", filepath.Join(folder(t), "provider.mjs"))
	node.Env = append(os.Environ(), "PROVIDER="+string(text))
	var said bytes.Buffer
	node.Stderr = &said
	input, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatalf("start Node.js: %v (scripts/setup-test.sh installs it)", err)
	}
	t.Cleanup(func() {
		_ = input.Close() // closing its input ends it
		_ = node.Wait()
	})
	issuer, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		_ = node.Process.Kill()
		_ = node.Wait()
		t.Fatalf("the provider does not start: %v %s", err, &said)
	}
	return &Provider{URL: strings.TrimSpace(issuer), t: t}
}

// folder returns the folder where scripts/oidc-tool.sh installed the provider.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		tool := filepath.Join(dir, "scripts", "oidc-tool.sh")
		if _, err := os.Stat(tool); err != nil {
			continue
		}
		out, err := exec.Command(tool).Output()
		if err != nil {
			t.Fatalf("the provider is not installed, run scripts/setup-test.sh: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	t.Fatalf("scripts/oidc-tool.sh is not above this folder: %v", err)
	return ""
}

// Logout makes the provider send a client a logout token for the logins of an account.
func (p *Provider) Logout(client, login string) {
	p.t.Helper()
	address := p.URL + "/test/logout?" + url.Values{"client": {client}, "sub": {login}}.Encode()
	answer, err := http.Post(address, "", nil) //nolint:noctx // the provider is bounded by the test
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if said, err := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || err != nil {
		p.t.Fatalf("the client does not accept the logout: %s %v", said, err)
	}
}

// Browser returns an HTTP client with cookies that follows redirects.
func Browser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// Enter opens a page and fills in the provider's forms like a person, until a page has no form. It returns that page
// and its status. fields are the values to enter, by the names of the forms' fields.
func (p *Provider) Enter(browser *http.Client, address string, fields url.Values) (status int, at *url.URL, page string) {
	p.t.Helper()
	answer, err := browser.Get(address) //nolint:noctx // the provider is bounded by the test
	for range 8 {
		if err != nil {
			p.t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			p.t.Fatal(err)
		}
		_ = answer.Body.Close()
		status, at, page = answer.StatusCode, answer.Request.URL, string(text)
		action, form := formOf(page)
		if action == "" {
			return status, at, page
		}
		for name, values := range fields {
			if _, asked := form[name]; asked {
				form[name] = values
			}
		}
		next, err := at.Parse(action)
		if err != nil {
			p.t.Fatal(err)
		}
		if answer, err = browser.PostForm(next.String(), form); err != nil { //nolint:noctx // the same
			p.t.Fatal(err)
		}
	}
	p.t.Fatalf("the forms do not end: %s", page)
	return 0, nil, ""
}

// formOf returns the target of a page's first POST form, "" for none, and its fields.
func formOf(page string) (action string, fields url.Values) {
	form := regexp.MustCompile(`(?s)<form[^>]*>.*?</form>`).FindString(page)
	tag := regexp.MustCompile(`<form[^>]*\baction="([^"]*)"[^>]*>`).FindStringSubmatch(form)
	if tag == nil || !regexp.MustCompile(`(?i)<form[^>]*method="post"`).MatchString(form) {
		return "", nil
	}
	fields = url.Values{}
	for _, input := range regexp.MustCompile(`<(?:input|button)[^>]*>`).FindAllString(form, -1) {
		name := regexp.MustCompile(`\bname="([^"]*)"`).FindStringSubmatch(input)
		if name == nil || strings.Contains(input, `name="abort"`) {
			continue
		}
		value := regexp.MustCompile(`\bvalue="([^"]*)"`).FindStringSubmatch(input)
		if value == nil {
			value = []string{"", ""}
		}
		fields.Set(html.UnescapeString(name[1]), html.UnescapeString(value[1]))
	}
	return html.UnescapeString(tag[1]), fields
}
