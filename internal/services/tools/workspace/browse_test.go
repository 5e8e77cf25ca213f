package workspace_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"harness/internal/services/tools/workspace"
)

// listed returns the entries of a folder: "sub/" is a folder, "name!why" is closed.
func (s *site) listed(b workspace.Browser, name string, offset, limit int) string {
	s.t.Helper()
	page, err := b.List(s.t.Context(), s.folder, name, offset, limit)
	if err != nil {
		s.t.Fatalf("list %q: %v", name, err)
	}
	var all []string
	for _, one := range page.Entries {
		text := fmt.Sprintf("%q", one.Name)[1:]
		text = text[:len(text)-1]
		if one.Folder {
			text += "/"
		}
		if one.Closed != "" {
			text += "!" + string(one.Closed)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// requireRefused fails unless a file is refused, with a reason that has a text.
func (s *site) requireRefused(b workspace.Browser, name, reason string) {
	s.t.Helper()
	var refused *workspace.RefusedError
	found, err := b.Read(s.folder, name, 0)
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), reason) || strings.Contains(found.Text, secret) {
		s.t.Errorf("read %q: %+v, %v", name, found, err)
	}
	if strings.Contains(fmt.Sprint(err), filepath.Dir(s.outside)) {
		s.t.Errorf("read %q reveals a path: %v", name, err)
	}
}

// WT-30: no spelling of a path and no link shows a file outside of the folder.
func TestNoFileOutsideIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ways := s.ways()
	s.link("inside/a.txt", "within")
	s.link("inside", "folder")
	b := workspace.Browser{}
	for _, name := range ways {
		s.requireRefused(b, name, "")
		if page, err := b.List(t.Context(), s.folder, name, 0, 10); err == nil {
			t.Errorf("list %q: %+v", name, page)
		}
	}
	for _, name := range []string{"within", "folder/a.txt", "inside/../inside/a.txt"} {
		if found, err := b.Read(s.folder, name, 0); err != nil || found.Text != "a\n" {
			t.Errorf("read %q: %+v, %v", name, found, err)
		}
	}
	if got, want := s.listed(b, "", 0, 100),
		"inside/ absolute!outside folder/ loop!outside parent!outside upward!outside winding!outside within"; got != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
	if _, err := b.Read(s.folder, "none", 0); !errors.Is(err, workspace.ErrNoFile) {
		t.Errorf("a missing file: %v", err)
	}
}

// WT-30: a folder or file that is swapped for a link while it is read shows nothing outside.
func TestSwappedFilesShowNothingOutside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("dir/secret.txt", "inside\n")
	s.put("file", "inside\n")
	done := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		swap := func(name, to string) error {
			at, aside := filepath.Join(s.folder, name), filepath.Join(s.folder, name+".aside")
			return errors.Join(os.Rename(at, aside), os.Symlink(to, at), os.Remove(at), os.Rename(aside, at))
		}
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := errors.Join(swap("dir", ".."), swap("file", "../secret.txt")); err != nil {
				t.Error(err)
				return
			}
		}
	})
	shown := 0
	for range 1000 {
		for _, name := range []string{"dir/secret.txt", "file"} {
			found, err := workspace.Browser{}.Read(s.folder, name, 0)
			if strings.Contains(found.Text, secret) {
				t.Errorf("%s shows %q", name, found.Text)
			}
			if err == nil {
				shown++
			}
		}
		page, err := workspace.Browser{}.List(t.Context(), s.folder, "dir", 0, 10)
		if err == nil && (len(page.Entries) != 1 || page.Entries[0].Name != "secret.txt") {
			t.Errorf("listed are %+v", page)
		}
	}
	close(done)
	swaps.Wait()
	if shown == 0 {
		t.Error("no file was shown between the swaps")
	}
}

// WT-31: secrets, version control and the server's own files are named and not shown, also by links.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{".env", ".ENV.local", "sub/.envrc", ".git/config", "data/tokens/a", ".environment", "sub/.GIT/x"} {
		s.put(name, "text\n")
	}
	s.link(".env", "e")
	s.link(".git", "g")
	s.link("data", "d")
	s.link("sub", "s")
	real, err := filepath.EvalSymlinks(s.folder)
	if err != nil {
		t.Fatal(err)
	}
	b := workspace.Browser{Hidden: []string{filepath.Join(real, "data")}}
	for name, reason := range map[string]string{".env": ".env", ".ENV.local": ".env", "sub/.envrc": ".env", "s/.envrc": ".env", "e": ".env",
		".git/config": "version control", "g/config": "version control", "sub/.GIT/x": "version control", "data/tokens/a": "server's own",
		"d/tokens/a": "server's own"} {
		s.requireRefused(b, name, reason)
	}
	for _, name := range []string{".git", "g", "data", "d", "data/tokens"} {
		if page, err := b.List(t.Context(), s.folder, name, 0, 10); err == nil {
			t.Errorf("list %q: %+v", name, page)
		}
	}
	if found, err := b.Read(s.folder, ".environment", 0); err != nil || found.Text != "text\n" {
		t.Errorf("%+v, %v", found, err)
	}
	if got, want := s.listed(b, "", 0, 100), ".git/!version_control data/!server sub/ .ENV.local!secret .env!secret .environment d/ e g/ s/"; got != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
	if got, want := s.listed(b, "s", 0, 100), ".GIT/!version_control .envrc!secret"; got != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
	for _, kept := range []string{real, filepath.Join(real, "data")} {
		var refused *workspace.RefusedError
		if _, err := (workspace.Browser{Keep: []string{kept}}).Read(s.folder, ".environment", 0); !errors.As(err, &refused) {
			t.Errorf("in a folder with %s: %v", kept, err)
		}
	}
}

// WT-32: special files answer at once, and large files and folders come in pages.
func TestSpecialAndLargeFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := syscall.Mkfifo(filepath.Join(s.folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(s.folder, "socket"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	s.link("/dev/zero", "device")
	s.put("binary", "PK\x00\x01")
	s.put("latin1", "caf\xe9\n")
	s.put("caf\xe9", "x")
	long := strings.Repeat("é\n", workspace.MaxContent/2)
	s.put("long", "x"+long)
	s.put("huge", "begin\n")
	if err := os.Truncate(filepath.Join(s.folder, "huge"), 1<<30); err != nil {
		t.Fatal(err)
	}
	b := workspace.Browser{}
	s.requireRefused(b, "pipe", "a pipe, a socket or a device")
	s.requireRefused(b, "socket", "a pipe, a socket or a device")
	s.requireRefused(b, "device", "")
	s.requireRefused(b, ".", "a folder")
	if got, want := s.listed(b, "", 0, 100), `binary caf\xe9!name device!outside huge latin1 long pipe!special socket!special`; got != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
	for name, want := range map[string]workspace.Content{
		"binary": {Size: 4, Binary: true, Type: "application/octet-stream"}, "huge": {Size: 1 << 30, Binary: true, Type: "application/octet-stream"},
		"latin1": {Size: 5, Text: "caf\uFFFD\n", Type: "text/plain; charset=utf-8"},
	} {
		found, err := b.Read(s.folder, name, 0)
		if want.Type, want.Modified = found.Type, found.Modified; err != nil || found != want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	var text string
	for next := int64(0); ; {
		found, err := b.Read(s.folder, "long", next)
		if err != nil || len(found.Text) > workspace.MaxContent {
			t.Fatalf("%d bytes from %d: %v", len(found.Text), next, err)
		}
		text += found.Text
		if next = found.Next; next == 0 {
			break
		}
	}
	if text != "x"+long {
		t.Errorf("the pages have %d of %d bytes", len(text), len(long)+1)
	}
	if found, err := b.Read(s.folder, "long", 1<<40); err != nil || found.Text != "" || found.Next != 0 {
		t.Errorf("after the end: %+v, %v", found, err)
	}
}

// WT-32: a folder of 100,000 entries comes in pages of 1,000.
func TestAFolderOfManyEntries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("many/0", "")
	for i := 1; i < 100_000; i++ {
		if err := os.Link(filepath.Join(s.folder, "many", "0"), filepath.Join(s.folder, "many", fmt.Sprint(i))); errors.Is(err, syscall.EMLINK) {
			s.put(fmt.Sprintf("many/%d", i), "")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	page, err := workspace.Browser{}.List(t.Context(), s.folder, "many", 99_500, 1000)
	if err != nil || page.Total != 100_000 || page.More || len(page.Entries) != 500 {
		t.Errorf("%d of %d, %v", len(page.Entries), page.Total, err)
	}
}
