package owner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/auth/owner"
)

// place is a server's data directory and the configuration folder of its user.
type place struct {
	t            *testing.T
	data, config string
}

func newPlace(t *testing.T) place { return place{t, t.TempDir(), t.TempDir()} }

func (p place) token() *owner.Token {
	return owner.Of(p.data, "server-1", func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": p.config}[name]
	})
}

func (p place) ensure() bool {
	p.t.Helper()
	made, err := p.token().Ensure()
	if err != nil {
		p.t.Fatal(err)
	}
	return made
}

func (p place) read() string {
	p.t.Helper()
	secret, err := p.token().Read()
	if err != nil {
		p.t.Fatal(err)
	}
	return secret
}

func TestTokenIsMadeOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if _, err := p.token().Read(); err == nil || !strings.Contains(err.Error(), "harness serve") {
		t.Errorf("before the first start: %v", err)
	}
	if !p.ensure() {
		t.Fatal("the first start makes no token")
	}
	secret := p.read()
	if len(secret) != len(owner.Prefix)+43 || !strings.HasPrefix(secret, owner.Prefix) {
		t.Errorf("the token is %q", secret)
	}
	if p.ensure() || p.read() != secret {
		t.Error("the second start makes another one")
	}
	if _, is := p.token().Find(secret); !is {
		t.Error("the token does not count")
	}
	for _, wrong := range []string{"", owner.Prefix, secret[:20], secret + "x", strings.ToUpper(secret)} {
		if _, is := p.token().Find(wrong); is {
			t.Errorf("%q counts", wrong)
		}
	}
	for path, mode := range map[string]os.FileMode{filepath.Join(p.data, "owner-token.sha256"): 0o600,
		filepath.Join(p.config, "harness", "owner", "server-1"): 0o600, filepath.Join(p.config, "harness", "owner"): 0o700 | os.ModeDir} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v, want %v", path, info, err, mode)
		}
	}
	if hash, err := os.ReadFile(filepath.Join(p.data, "owner-token.sha256")); err != nil || strings.Contains(string(hash), secret) {
		t.Errorf("the data directory has %q, %v", hash, err)
	}
}

// A server that was killed between the two files makes another token.
func TestTokenIsMadeAfterABrokenStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ensure()
	before := p.read()
	if err := os.Remove(filepath.Join(p.data, "owner-token.sha256")); err != nil {
		t.Fatal(err)
	}
	if !p.ensure() {
		t.Fatal("no token is made")
	}
	if after := p.read(); after == before {
		t.Error("the token of the broken start counts")
	} else if _, is := p.token().Find(after); !is {
		t.Error("the new token does not count")
	}
}

// A running server detects that the token was renewed: the old one ends, and so do the connections opened with it.
func TestRenew(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ensure()
	running, old := p.token(), p.read()
	access, is := running.Find(old)
	if !is {
		t.Fatal("the token does not count")
	}
	fresh, err := p.token().Renew()
	if err != nil || fresh != p.read() || fresh == old {
		t.Fatalf("renewed: %q %v", fresh, err)
	}
	if _, is := running.Find(old); is {
		t.Error("the old token counts")
	}
	if access.Err() == nil {
		t.Error("access by the old token does not end")
	}
	if access, is := running.Find(fresh); !is || access.Err() != nil {
		t.Error("the new token does not count")
	}
	if err := os.Remove(filepath.Join(p.data, "owner-token.sha256")); err != nil {
		t.Fatal(err)
	}
	if _, is := running.Find(fresh); is {
		t.Error("a token without a hash counts")
	}
}

func TestTokenThatCannotBeKept(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.config, "harness"), nil, 0o600); err != nil { // root can write to every folder
		t.Fatal(err)
	}
	if made, err := p.token().Ensure(); err == nil || made {
		t.Fatalf("made: %t %v", made, err)
	}
	if _, err := p.token().Read(); err == nil || !strings.Contains(err.Error(), "harness token --renew") {
		t.Errorf("it cannot be read: %v", err)
	}
	var notKept *owner.NotKeptError
	secret, err := p.token().Renew()
	if !errors.As(err, &notKept) {
		t.Fatalf("renewed: %v", err)
	}
	if _, is := p.token().Find(secret); !is {
		t.Error("the renewed token does not count")
	}
	homeless := owner.Of(p.data, "server-1", func(string) string { return "" })
	if _, err := homeless.Read(); !errors.Is(err, owner.ErrNoPlace) {
		t.Errorf("without a home: %v", err)
	}
}

func TestReadRefusesWhatIsNoSecret(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ensure()
	path := p.token().Path()
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // this is what is refused
		t.Fatal(err)
	}
	if _, err := p.token().Read(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others may read it: %v", err)
	}
	if err := os.WriteFile(path, []byte("hro_of_before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.token().Read(); err == nil || !strings.Contains(err.Error(), "renewed elsewhere") {
		t.Errorf("one of before: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := p.token().Read(); err == nil || !strings.Contains(err.Error(), "harness token --renew") {
		t.Errorf("none: %v", err)
	}
}
