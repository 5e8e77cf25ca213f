package manager

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/services/session"
	"harness/internal/services/session/workspace"
)

// A session can be opened only in a folder that an agent can work in; the rule is independent of the runtime.
func TestTheFolderOfANewSession(t *testing.T) {
	root := t.TempDir()
	file, below, closed := filepath.Join(root, "file"), filepath.Join(root, "below"), filepath.Join(root, "closed")
	loop, link := filepath.Join(root, "loop"), filepath.Join(root, "link")
	err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(below, 0o700), os.Mkdir(closed, 0o700), os.Symlink(loop, loop),
		os.Symlink(below, link))
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, k *kit) {
		k.Service.Checker.Root = root
		k.Unusable = func(folder string) string {
			return workspace.Unusable(folder, func(entered string) error {
				if entered == closed {
					return os.ErrPermission
				}
				return nil
			})
		}
		for cwd, want := range map[string]string{
			"": root, root: root, below: below, "below": below, "./below/": below, ".": root, link: link, root + "/": root + "/",
		} {
			if s, err := k.Create(t.Context(), session.Create{Cwd: cwd}); err != nil || s.Cwd != want {
				t.Errorf("%q: works in %q, %v; want %q", cwd, s.Cwd, err, want)
			}
		}
		begun := len(k.fake.threads)
		for _, cwd := range []string{"/no/such", file, file + "/below", closed, loop, "missing", "..", "../" + filepath.Base(root),
			"below/../..", "a\x00b", "~/work"} {
			s, err := k.Create(t.Context(), session.Create{Cwd: cwd})
			var refused *session.FolderError
			if !errors.As(err, &refused) || refused.Code() != "invalid_cwd" || refused.Folder != cwd || refused.Reason == "" {
				t.Errorf("%q: opened in %q, %v", cwd, s.Cwd, err)
			}
		}
		if now := len(k.fake.threads); now != begun {
			t.Errorf("the runtime opened %d conversations for refused folders", now-begun)
		}
	})
}

// A session whose folder is missing accepts no message until the folder is back; until then, nothing reaches its
// runtime.
func TestASessionWithoutItsFolderWaitsForIt(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		folder := filepath.Join(t.TempDir(), "work")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		k.Unusable = func(folder string) string { return workspace.Unusable(folder, nil) }
		s, err := k.Create(t.Context(), session.Create{Cwd: folder})
		k.do(err)
		k.do(os.Rename(folder, folder+".away"))
		ways := map[string]func() error{
			"send":   func() error { _, err := k.Send(t.Context(), s.ID, session.Message{Text: "hi"}); return err },
			"wait":   func() error { _, _, err := k.Wait(t.Context(), s.ID, session.Message{Text: "hi"}); return err },
			"check":  func() error { return k.CheckWorkspace(t.Context(), s.ID) },
			"resume": func() error { _, err := k.Resume(t.Context(), s.ID, nil); return err },
			"steer":  func() error { return k.SteerTurn(t.Context(), s.ID, "t", "hi") },
		}
		for name, do := range ways {
			var refused *session.FolderError
			if err := do(); !errors.As(err, &refused) || refused.Code() != "workspace_missing" || refused.Folder != folder {
				t.Errorf("%s: %v", name, err)
			}
		}
		if turns, _ := k.fake.seen(); len(turns) != 0 {
			t.Errorf("the runtime began %d turns", len(turns))
		}
		k.do(os.Rename(folder+".away", folder))
		turn := k.send(s.ID)
		k.do(os.Rename(folder, folder+".away"))
		if err := k.Steer(t.Context(), s.ID, turn, "hi"); !errors.As(err, new(*session.FolderError)) {
			t.Errorf("steer: %v", err)
		}
		if turns, _ := k.fake.seen(); len(turns) != 1 || turns[0].Cwd != folder {
			t.Errorf("the runtime began %+v", turns)
		}
	})
}
