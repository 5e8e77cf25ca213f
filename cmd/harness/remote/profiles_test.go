package remote

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// asked is a server that records the tokens of its requests.
func asked(t *testing.T) (url string, tokens *[]string) {
	t.Helper()
	tokens = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*tokens = append(*tokens, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	t.Cleanup(server.Close)
	return server.URL, tokens
}

func command(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	root := &cobra.Command{Use: "harness", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(Commands(func(string) (string, string, error) {
		return "", "", errors.New("nothing is configured here")
	}, nil)...)
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// A profile names a server and stores its token, which is sent only to that server; a flag or a variable takes
// precedence.
func TestProfilesNameServers(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"XDG_CONFIG_HOME": home, "HOME": home, "HARNESS_URL": "",
		"HARNESS_TOKEN":      "",
		"HARNESS_TOKEN_FILE": "", "HARNESS_PROFILE": ""} {
		t.Setenv(name, value)
	}
	one, toOne := asked(t)
	other, toOther := asked(t)
	do := func(stdin string, args ...string) string {
		t.Helper()
		out, err := command(t, stdin, args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	refused := func(why string, args ...string) {
		t.Helper()
		var wrong *UsageError
		if _, err := command(t, "", args...); !errors.As(err, &wrong) || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v, want %s", args, err, why)
		}
	}
	do("secret-1\n", "profiles", "set", "one", "--server", one+"/", "--token", "-")
	do("", "profiles", "set", "other", "--server", other)
	do("", "profiles", "use", "one")
	do("", "projects", "list")
	do("", "projects", "list", "--profile", "other")
	do("", "projects", "list", "--url", other)
	t.Setenv("HARNESS_PROFILE", "other")
	do("", "projects", "list")
	do("", "projects", "list", "--profile", "one")
	t.Setenv("HARNESS_TOKEN", "named")
	do("", "projects", "list", "--profile", "one")
	t.Setenv("HARNESS_TOKEN", "")
	if got := strings.Join(*toOne, ","); got != "Bearer secret-1,Bearer secret-1,Bearer named" {
		t.Errorf("the first server was asked with %q", got)
	}
	if got := strings.Join(*toOther, ","); got != ",," {
		t.Errorf("the other server was asked with %q", got)
	}
	err := filepath.WalkDir(home, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	list := do("", "profiles", "list")
	if strings.Contains(list, "secret") || !strings.Contains(list, one) || !strings.Contains(list, "current") {
		t.Errorf("the list is %s", list)
	}
	refused("no profile", "projects", "list", "--profile", "third")
	refused("choose one", "projects", "list", "--profile", "one", "--url", other)
	refused("letters, digits", "profiles", "set", "../x", "--server", one)
	refused("is no URL", "profiles", "set", "x", "--server", "ftp://x")
	refused("its token is for", "profiles", "set", "one", "--server", other)
	do("", "profiles", "delete", "one")
	if left, err := os.ReadDir(filepath.Join(home, "harness", "tokens")); err != nil || len(left) > 0 {
		t.Errorf("tokens left: %v, %v", left, err)
	}
	t.Setenv("HARNESS_PROFILE", "")
	if _, err := command(t, "", "projects", "list"); err == nil ||
		!strings.Contains(err.Error(), "nothing is configured here") {
		t.Errorf("without a profile: %v", err)
	}
}
