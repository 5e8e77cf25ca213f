package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

// A profile's token can be in the system's keyring, and then no file contains it. Without a working keyring the command
// reports the remedy and changes nothing.
func TestAProfilesTokenInTheKeyring(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"XDG_CONFIG_HOME": home, "HOME": home, "HARNESS_URL": "", "HARNESS_TOKEN": "",
		"HARNESS_TOKEN_FILE": "", "HARNESS_PROFILE": ""} {
		t.Setenv(name, value)
	}
	url, shown := asked(t)
	set := func(more ...string) error {
		_, err := command(t, "hrn_secret\n", append([]string{"profiles", "set", "one", "--server", url, "--token", "-"}, more...)...)
		return err
	}
	file := filepath.Join(home, "harness", "tokens", "one")
	asks := func(want string) {
		t.Helper()
		*shown = nil
		_, err := command(t, "", "projects", "list", "--profile", "one")
		if err != nil || len(*shown) == 0 || (*shown)[0] != want {
			t.Errorf("%v, %v", *shown, err)
		}
	}

	keyring.MockInitWithError(errors.New("no bus"))
	if err := set("--keyring"); err == nil || !strings.Contains(err.Error(), "no bus") || !strings.Contains(err.Error(), "--token FILE") {
		t.Errorf("without a keyring: %v", err)
	}
	if all, err := readProfiles(); err != nil || len(all.Servers) != 0 {
		t.Errorf("%+v %v", all, err)
	}

	keyring.MockInit()
	if err := set(); err != nil {
		t.Fatal(err)
	}
	asks("Bearer hrn_secret")
	if err := set("--keyring"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	asks("Bearer hrn_secret")
	if err := set(); err != nil { // back into the file
		t.Fatal(err)
	}
	if _, err := keyring.Get(keyringService, "one "+url); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring still has it: %v", err)
	}
	if err := set("--keyring"); err != nil {
		t.Fatal(err)
	}
	if _, err := command(t, "", "profiles", "delete", "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Get(keyringService, "one "+url); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring has it after the profile is gone: %v", err)
	}

	// The token was removed from the keyring: the user sees an error, and no request is sent without a token.
	if err := set("--keyring"); err != nil {
		t.Fatal(err)
	}
	keyring.MockInit()
	if _, err := command(t, "", "projects", "list", "--profile", "one"); !errors.As(err, new(*UsageError)) ||
		!strings.Contains(err.Error(), "--keyring") {
		t.Errorf("a token that is gone: %v", err)
	}
}
