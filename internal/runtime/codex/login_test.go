package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// A login has a page and a code for a user; an answer without both is an error.
func TestALoginHasAPageAndACode(t *testing.T) {
	t.Parallel()
	login, err := loginOf(
		json.RawMessage(`{"type":"chatgptDeviceCode","loginId":"l","verificationUrl":"https://example.com/device","userCode":"AB-12"}`))
	if want := (runtime.Login{ID: "l", URL: "https://example.com/device", Code: "AB-12"}); err != nil || login != want {
		t.Errorf("got %+v, %v", login, err)
	}
	for _, odd := range []string{`{}`, `{"loginId":"l","verificationUrl":"https://example.com"}`, `[]`} {
		if login, err := loginOf(json.RawMessage(odd)); err == nil {
			t.Errorf("%s is taken for %+v", odd, login)
		}
	}
}

// Auth distinguishes a key and a stored login; a key of the server that codex does not inherit does not count.
func TestCredentialsAreDistinguished(t *testing.T) {
	none := func(string) bool { return false }
	t.Setenv(keyVariable, "sk-of-the-server")
	in := t.TempDir()
	if err := os.WriteFile(filepath.Join(in, "auth.json"), []byte(`{"tokens":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	setup := func(inherits func(string) bool, env ...string) stdio.Setup {
		return stdio.Setup{Launch: stdio.Launch{Inherits: inherits, Env: env}}
	}
	for want, options := range map[string]Options{
		"missing":            {Home: t.TempDir(), Setup: setup(none)},
		"found apiKey":       {Home: t.TempDir()},
		"found apiKey set":   {Home: t.TempDir(), Setup: setup(none, keyVariable+"=k")},
		"found login":        {Home: in, Setup: setup(none)},
		"found apiKey login": {Home: in},
	} {
		status, err := New(options).Auth(t.Context())
		got := strings.Join(append([]string{string(status.State)}, status.Credentials...), " ")
		if err != nil || got != strings.TrimSuffix(want, " set") || (status.Remedy != "") != (want == "missing") {
			t.Errorf("%s: %+v, %v", want, status, err)
		}
	}
}
