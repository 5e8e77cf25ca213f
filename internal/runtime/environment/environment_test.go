package environment_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime/environment"
)

func TestWhatARuntimeInherits(t *testing.T) {
	t.Parallel()
	policy := environment.Policy{Mode: environment.ModeInherit, Secrets: []string{"HARNESS_AUTH_TOKEN", "DATABASE_URL"},
		Allow: []string{"COMPANY_*", "gemini:GIT_TOKEN", "opencode:OPENAI_API_KEY", "HARNESS_*"}}
	closed := policy
	closed.Mode = environment.ModeClosed
	all := "codex codexclosed claude gemini opencode bridge acp:own"
	for name, who := range map[string]string{
		"HARNESS_AUTH_TOKEN": "", "DATABASE_URL": "",
		"PATH": all, "HOME": all, "LC_ALL": all, "https_proxy": all, "NODE_EXTRA_CA_CERTS": all, "TMPDIR": all,
		"COMPANY_CA": all, "HARNESS_HINT": all,
		"GIT_TOKEN": "codex gemini", "AWS_SECRET_ACCESS_KEY": "codex", "LD_PRELOAD": "codex", "SSH_AUTH_SOCK": "codex",
		"PATHOLOGY": "codex", "OPENAI_API_KEY": "codex codexclosed opencode", "CODEX_API_KEY": "codex codexclosed",
		"ANTHROPIC_API_KEY": "claude bridge", "CLAUDE_CODE_OAUTH_TOKEN": "claude bridge",
		"ANTHROPIC_BASE_URL": "claude bridge", "GEMINI_API_KEY": "gemini", "GOOGLE_GEMINI_BASE_URL": "gemini",
		"GOOGLE_API_KEY": "gemini", "OPENCODE_CONFIG_CONTENT": "opencode",
	} {
		got := map[string]bool{
			"codex": policy.Inherits("codex")(name), "codexclosed": closed.Inherits("codex")(name),
			"claude": policy.Inherits("claude")(name), "gemini": policy.Inherits("gemini")(name),
			"opencode": policy.Inherits("opencode")(name), "bridge": policy.Inherits("claude-acp", "claude")(name),
			"acp:own": policy.Inherits("acp:own")(name),
		}
		for runtime, inherits := range got {
			if want := slices.Contains(strings.Fields(who), runtime); inherits != want {
				t.Errorf("%s of %s: %t", name, runtime, inherits)
			}
		}
	}
}

// Any name of a namespace makes a separate folder inside the folder of all homes.
func TestNoNameEscapesOrMeetsAnother(t *testing.T) {
	t.Parallel()
	homes := environment.Homes{Dir: filepath.Join(t.TempDir(), "credentials")}
	places := map[string]string{}
	for _, name := range []string{
		"default", "Default", "a:b", "a/b", "a_b", "a=3ab", "a\\b", "..", ".", "...", "../..", "/", "/etc", "user:1",
		"user:1 ", " ", "-", "=", "=2e=2e", "~", "é", "e\u0301", "con", "nul.txt", strings.Repeat("/", environment.MaxName),
	} {
		for _, runtime := range []string{"claude", "acp:../x", ".."} {
			for level, session := range map[environment.Level]string{environment.LevelNamespaced: "",
				environment.LevelEphemeral: name} {
				home, err := homes.Of(level, runtime, name, session)
				if err != nil {
					t.Fatalf("%q: %v", name, err)
				}
				relative, err := filepath.Rel(homes.Dir, home.Dir)
				if err != nil || !filepath.IsLocal(relative) || strings.Count(relative, string(filepath.Separator)) != 2 {
					t.Errorf("%q of %q is at %s", name, runtime, home.Dir)
				}
				key := strings.ToLower(home.Dir)
				if other, taken := places[key]; taken {
					t.Errorf("%q meets %s", name, other)
				}
				places[key] = fmt.Sprintf("%q of %s at %s", name, runtime, level)
			}
		}
	}
	for _, name := range []string{"", "a\x00b", "a\nb", "\xff", strings.Repeat("a", environment.MaxName+1)} {
		if _, err := homes.Of(environment.LevelNamespaced, "claude", name, ""); err == nil || environment.CheckName(name) {
			t.Errorf("%q is a name", name)
		}
		if _, err := homes.Of(environment.LevelEphemeral, "claude", "default", name); err == nil {
			t.Errorf("%q is a session", name)
		}
	}
}

func TestAHomeIsItsUsersAlone(t *testing.T) {
	t.Parallel()
	homes := environment.Homes{Dir: filepath.Join(t.TempDir(), "credentials")}
	shared, err := homes.Of(environment.LevelShared, "claude", "default", "s")
	if err != nil || shared.Dir != "" || shared.Env() != nil {
		t.Errorf("shared is %+v, %v", shared, err)
	}
	if _, err := os.Stat(homes.Dir); err == nil {
		t.Error("a folder is made for an empty name")
	}
	home, err := homes.Of(environment.LevelNamespaced, "claude", "default", "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := homes.Of(environment.LevelNamespaced, "claude", "default", "")
	if err != nil || again != home {
		t.Errorf("then it is %+v, %v", again, err)
	}
	if root, err := homes.Root(environment.LevelNamespaced, "claude"); err != nil || root != filepath.Dir(home.Dir) {
		t.Errorf("all of a runtime are in %s, %v", root, err)
	}
	for _, assignment := range home.Env() {
		_, path, _ := strings.Cut(assignment, "=")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(path) != home.Dir {
			t.Errorf("%s: %v", assignment, err)
		}
	}
	if len(home.Env()) != 5 || !strings.HasPrefix(home.Env()[0], "HOME=") {
		t.Errorf("the environment is %v", home.Env())
	}
}

// If a runtime puts a link in place of a home, it gets no access to the target.
func TestALinkIsNoHome(t *testing.T) {
	t.Parallel()
	dir, elsewhere := filepath.Join(t.TempDir(), "credentials"), t.TempDir()
	homes := environment.Homes{Dir: dir}
	victim, err := homes.Of(environment.LevelNamespaced, "claude", "victim", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"outside": elsewhere, "inside": "victim"} {
		if err := os.Symlink(target, filepath.Join(filepath.Dir(victim.Dir), name)); err != nil {
			t.Fatal(err)
		}
		if home, err := homes.Of(environment.LevelNamespaced, "claude", name, ""); err == nil {
			t.Errorf("%s is given %+v", name, home)
		}
	}
}

func TestASessionsHomeGoesWithIt(t *testing.T) {
	t.Parallel()
	homes := environment.Homes{Dir: filepath.Join(t.TempDir(), "credentials")}
	if err := homes.Forget("claude", "s"); err != nil {
		t.Errorf("one that never was: %v", err)
	}
	one, err := homes.Of(environment.LevelEphemeral, "claude", "default", "s")
	if err != nil {
		t.Fatal(err)
	}
	other, err := homes.Of(environment.LevelEphemeral, "claude", "default", "t")
	if err != nil || one == other {
		t.Fatalf("two sessions share %s, %v", one.Dir, err)
	}
	if err := os.WriteFile(filepath.Join(one.Dir, "home", "login"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	named, err := homes.Of(environment.LevelEphemeral, "claude", "default", "A=b/..é")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(one.Dir)
	if err := errors.Join(os.Symlink(other.Dir, filepath.Join(folder, "link")), os.Mkdir(filepath.Join(folder, "Other"), 0o700),
		os.Mkdir(filepath.Join(folder, "=zz"), 0o700), os.WriteFile(filepath.Join(folder, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	found, err := homes.Sessions("claude")
	slices.Sort(found)
	if err != nil || !slices.Equal(found, []string{"A=b/..é", "s", "t"}) {
		t.Errorf("the homes are of %q, %v", found, err)
	}
	if err := errors.Join(homes.Forget("claude", "A=b/..é"), homes.Forget("claude", "link")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(named.Dir); !os.IsNotExist(err) {
		t.Errorf("one with an odd name is still there: %v", err)
	}
	if none, err := homes.Sessions("gemini"); err != nil || len(none) != 0 {
		t.Errorf("of another runtime there are %q, %v", none, err)
	}
	if err := homes.Forget("claude", "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(one.Dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(other.Dir); err != nil {
		t.Error(err)
	}
	if homes.Forget("claude", "") == nil {
		t.Error("the home of an empty name is removed")
	}
}
