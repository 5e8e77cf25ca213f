package acp

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"harness/internal/runtime"
)

// writeBelow writes a file below a home, with its folders.
func writeBelow(t *testing.T, home, name, content string) string {
	t.Helper()
	path := filepath.Join(home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Gemini's histories of a conversation are the files with its id in the first line, not those with a similar name.
// The snapshot is complete if one of them was written in the last turn.
func TestSnapshotFilesBelongToConversation(t *testing.T) {
	t.Parallel()
	r, home := homed(t)
	in := runtime.ResumeThread{ThreadID: "session", NativeID: "01234567-89ab-cdef"}
	named := ".gemini/tmp/project/chats/session-2026-01-02T03-04-01234567.jsonl"
	if written, err := r.SnapshotWritten(t.Context(), in); written || err != nil {
		t.Errorf("without a file: %v, %v", written, err)
	}
	writeBelow(t, home, ".gemini/tmp/other/chats/session-2026-01-02T03-05-01234567.jsonl", `{"sessionId":"01234567-other"}`+"\n")
	path := writeBelow(t, home, named, `{"sessionId":"01234567-89ab-cdef","kind":"main"}`+"\n")
	secret := writeBelow(t, t.TempDir(), "secret", `{"sessionId":"01234567-89ab-cdef"}`)
	link := filepath.Join(home, ".gemini/tmp/project/chats/session-2026-01-02T03-06-01234567.jsonl")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if _, names, err := r.SnapshotFiles(in); err == nil {
		t.Errorf("a link out of the home is followed: %v", names)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if folder, names, err := r.SnapshotFiles(in); folder != home || !slices.Equal(names, []string{named}) || err != nil {
		t.Errorf("the files in %s are %v, %v", folder, names, err)
	}
	for _, id := range []string{"*", "../../../../..", "0123"} {
		if _, names, err := r.SnapshotFiles(runtime.ResumeThread{ThreadID: id}); len(names) > 0 || err != nil {
			t.Errorf("of %q: %v, %v", id, names, err)
		}
	}
	for age, want := range map[time.Duration]bool{0: true, time.Minute: false} {
		r.began["session"] = time.Now()
		at := r.began["session"].Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		if written, err := r.SnapshotWritten(t.Context(), in); written != want || err != nil {
			t.Errorf("written %s before the turn: %v, %v", age, written, err)
		}
	}
}

// A history of another machine goes to this machine's folder for the same path, or to one that is marked with it.
func TestAHistoryGoesToTheFolderOfItsProject(t *testing.T) {
	t.Parallel()
	r, home := homed(t)
	in := runtime.ResumeThread{ThreadID: "session", NativeID: "01234567-89ab-cdef"}
	name := ".gemini/tmp/work/chats/session-2026-01-02T03-04-01234567.jsonl"
	writeBelow(t, home, ".gemini/tmp/work/.project_root", "/another/work")
	writeBelow(t, home, ".gemini/tmp/work-1/.project_root", "/the/work\n")
	if place, err := r.SnapshotPath(in, "/the/work/", name); err != nil ||
		place != ".gemini/tmp/work-1/chats/session-2026-01-02T03-04-01234567.jsonl" {
		t.Errorf("the place is %q, %v", place, err)
	}
	first, err := r.SnapshotPath(in, "/new/work", name)
	if err != nil {
		t.Fatal(err)
	}
	if mark, err := os.ReadFile(filepath.Join(home, filepath.Dir(filepath.Dir(first)), ".project_root")); err != nil ||
		string(mark) != "/new/work" {
		t.Errorf("%s is marked %q, %v", first, mark, err)
	}
	if again, err := r.SnapshotPath(in, "/new/work", name); again != first || err != nil {
		t.Errorf("the second time the place is %q, %v", again, err)
	}
	if other, err := r.SnapshotPath(in, "/newer/work", name); other == first || err != nil {
		t.Errorf("another folder has the place %q, %v", other, err)
	}
}
