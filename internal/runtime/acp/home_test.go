package acp

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"harness/internal/runtime/stdio"
)

func homed(t *testing.T) (r *Runtime, home string) {
	t.Helper()
	home = t.TempDir()
	return New(Options{Profile: Gemini(), Setup: stdio.Setup{Launch: stdio.Launch{Env: []string{"HOME=" + home}}}}), home
}

// If an agent puts a link in place of its settings, the adapter overwrites no file of the server.
func TestSettingsStayInTheHome(t *testing.T) {
	t.Parallel()
	r, home := homed(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.writeSettings("{}"); err != nil {
		t.Fatalf("without a link: %v", err)
	}
	if err := os.Remove(r.settingsFile()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, r.settingsFile()); err != nil {
		t.Fatal(err)
	}
	if err := r.writeSettings("{}"); err == nil {
		t.Error("the settings went through a link out of the home")
	}
	if kept, err := os.ReadFile(victim); err != nil || string(kept) != "kept" {
		t.Errorf("the file says %q, %v", kept, err)
	}
	if filepath.Dir(r.settingsFile()) != home {
		t.Errorf("the settings are at %s", r.settingsFile())
	}
}

// The adapter puts aside a history of the current minute before it loads it. It leaves all other histories unchanged,
// including those it put aside before.
func TestAHistoryOfThisMinuteIsPutAside(t *testing.T) {
	t.Parallel()
	for {
		r, home := homed(t)
		chats := filepath.Join(home, ".gemini", "tmp", "project", "chats")
		if err := os.MkdirAll(chats, 0o700); err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC().Truncate(time.Minute)
		named := func(at time.Time, id string) string {
			return filepath.Join(chats, "session-"+at.Format(minuteLayout)+"-"+id+".jsonl")
		}
		for _, file := range []string{named(now, "01234567"), named(now, "other000"), named(now.Add(-time.Minute), "01234567"),
			named(now.Add(-time.Hour), "01234567")} {
			if err := os.WriteFile(file, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.putAside("01234567-89ab"); err != nil {
			t.Fatal(err)
		}
		if !time.Now().UTC().Truncate(time.Minute).Equal(now) {
			continue // the minute ended in between
		}
		for file, was := range map[string]string{named(now.Add(-2*time.Minute), "01234567"): named(now, "01234567"),
			named(now, "other000"): "", named(now.Add(-time.Minute), "01234567"): "", named(now.Add(-time.Hour), "01234567"): ""} {
			if got, err := os.ReadFile(file); err != nil || string(got) != cmp.Or(was, file) {
				t.Errorf("%s is what was %s, %v", file, got, err)
			}
		}
		if _, err := os.Stat(named(now, "01234567")); err == nil {
			t.Error("it is still where it is emptied")
		}
		return
	}
}
