package manager

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
	"harness/tests/dbtest"
)

// remoteFake stores the only file of a folder.
type remoteFake struct {
	mu       sync.Mutex
	stored   map[string]string
	restored int
	// away means that the remote is unreachable.
	away bool
}

const inFolder = "content"

func (r *remoteFake) Store(_ context.Context, name, folder string) (snapshot, refusal string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return "", "", errors.New("the remote is away")
	}
	content, err := os.ReadFile(filepath.Join(folder, inFolder))
	if string(content) == "refused" {
		return "", "it is refused", nil
	}
	r.stored[name] = string(content)
	return string(content), "", err
}

func (r *remoteFake) Restore(_ context.Context, name, snapshot, folder string) (aside string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return "", errors.New("the remote is away")
	}
	if r.stored[name] != snapshot {
		return "", errors.New("it is not what was stored")
	}
	r.restored++
	if err := os.Remove(folder); err != nil && !errors.Is(err, os.ErrNotExist) { // the folder is not empty
		aside = folder + ".before"
		if err := os.Rename(folder, aside); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	return aside, os.WriteFile(filepath.Join(folder, inFolder), []byte(snapshot), 0o600)
}

func (r *remoteFake) Forget(_ context.Context, prefix string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.stored {
		if strings.HasPrefix(name, prefix) {
			delete(r.stored, name)
		}
	}
	return nil
}

// foldersKit is a set of nodes whose sessions work in folders that a remote stores.
type foldersKit struct {
	t      *testing.T
	db     *database.DB
	remote *remoteFake
	nodes  int
	over   []string
	folder string
}

func newFoldersKit(t *testing.T) *foldersKit {
	t.Helper()
	f := &foldersKit{t: t, db: dbtest.Open(t, database.Postgres), remote: &remoteFake{stored: map[string]string{}},
		folder: filepath.Join(t.TempDir(), "folder")}
	if err := os.Mkdir(f.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *foldersKit) node(name string) *kit {
	f.t.Helper()
	f.nodes++
	k := openWith(f.t, f.db, name, func(o *Options) {
		o.Movable, o.Folders = true, f.remote
		o.Lapsed = func(_ context.Context, _ database.Querier, node string) (bool, error) {
			return slices.Contains(f.over, node), nil
		}
	})
	k.fake.nextTurn = 100 * f.nodes // turns of different nodes have different ids
	return k
}

// session creates a session in the folder, in which a turn leaves a file.
func (f *foldersKit) session(k *kit, content string) session.Session {
	f.t.Helper()
	s, err := k.Create(f.t.Context(), session.Create{Cwd: f.folder})
	k.do(err)
	f.turn(k, s, content)
	return s
}

func (f *foldersKit) turn(k *kit, s session.Session, content string) {
	f.t.Helper()
	f.write(content)
	turn := k.send(s.ID)
	k.fake.end(s.ID, turn, runtime.TurnDone)
	k.eventually("the folder is stored", func() bool { return f.row(s.ID).TurnID == turn })
	k.eventually("the turn is remembered", func() bool {
		row, _, err := store.ReadSnapshot(f.t.Context(), f.db.Read(), s.ID)
		k.do(err)
		return row.TurnID == turn
	})
}

func (f *foldersKit) row(sessionID string) (row store.Workspace) {
	f.t.Helper()
	if err := store.EachWorkspace(f.t.Context(), f.db.Read(), func(_, _ string, found store.Workspace) { row = found }, `s.id = $1`,
		sessionID); err != nil {
		f.t.Fatal(err)
	}
	return row
}

func (f *foldersKit) write(content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, inFolder), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *foldersKit) has(want string) {
	f.t.Helper()
	if got, err := os.ReadFile(filepath.Join(f.folder, inFolder)); err != nil || string(got) != want {
		f.t.Errorf("the folder has %q, want %q, %v", got, want, err)
	}
}

// lose declares a node dead and removes its folder here.
func (f *foldersKit) lose(node string) {
	f.t.Helper()
	f.over = append(f.over, node)
	if err := os.Rename(f.folder, f.folder+"-of-"+node); err != nil {
		f.t.Fatal(err)
	}
}

// refused fails unless a node refuses to take over a session, with the given reason.
func (f *foldersKit) refused(by *kit, s session.Session, why string) {
	f.t.Helper()
	var pinned *session.PinnedError
	if err := by.Own(f.t.Context(), s); !errors.As(err, &pinned) || pinned.Code() != "workspace_pinned" ||
		!strings.Contains(pinned.Error(), why) {
		f.t.Errorf("want a refusal because %q, not %v", why, err)
	}
	if now, err := by.Lookup(f.t.Context(), s.ID); err != nil || now.NodeID != s.NodeID || now.Epoch != s.Epoch {
		f.t.Errorf("the session is of %s in epoch %d, %v", now.NodeID, now.Epoch, err)
	}
}

// The sessions in a folder continue on one node, with the files that the last of them left there. Other nodes refer
// them to that node as long as it is alive.
func TestAFolderIsBroughtOnceForAllItsSessions(t *testing.T) {
	t.Parallel()
	f := newFoldersKit(t)
	one, two, three := f.node("one"), f.node("two"), f.node("three")
	first, second, third := f.session(one, "1"), f.session(one, "2"), f.session(one, "3")
	f.turn(one, first, "4")
	f.lose("one")
	var taking sync.WaitGroup
	for _, s := range []session.Session{first, second} {
		taking.Go(func() {
			if err := two.Own(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	taking.Wait()
	f.has("4")
	if f.remote.restored != 1 {
		t.Errorf("it was made %d times", f.remote.restored)
	}
	var elsewhere *session.NotOwnerError
	if err := three.Own(t.Context(), third); !errors.As(err, &elsewhere) || elsewhere.DoneBy() != "two" || elsewhere.Folder != f.folder {
		t.Errorf("a session whose folder is at another node: %v", err)
	}
	f.turn(two, first, "5")
	f.lose("two")
	three.do(three.Own(t.Context(), third))
	f.has("5")
	if mark, err := workspace.ReadMarker(f.folder); err != nil || mark != f.row(third.ID).Mark {
		t.Errorf("its mark is %q, %v", mark, err)
	}
	moved := func(want int) {
		t.Helper()
		three.prune(defaults())
		if n := three.number(`select count(*) from moved_folders`); n != want {
			t.Errorf("where %d folders went on is remembered, want %d", n, want)
		}
	}
	moved(1) // two has lost sessions in it
	for _, s := range []session.Session{first, second} {
		now, err := three.Lookup(t.Context(), s.ID)
		three.do(err)
		three.do(three.Own(t.Context(), now))
	}
	moved(0)
}

// An old copy of the folder is moved aside. A copy that other sessions work in, or an unknown one, is left alone.
func TestAFolderThatIsInUseIsNotReplaced(t *testing.T) {
	t.Parallel()
	f := newFoldersKit(t)
	one, two := f.node("one"), f.node("two")
	s := f.session(one, "1")
	f.lose("one")
	for _, content := range []string{"theirs", ""} {
		one.do(os.Mkdir(f.folder, 0o700))
		if content != "" {
			f.write(content)
			f.refused(two, s, "there is another folder")
			f.has(content)
			one.do(os.RemoveAll(f.folder))
		}
	}
	two.do(two.Own(t.Context(), s)) // it is empty
	f.has("1")
	// Back on the first node, where another session has continued in the old copy.
	f.turn(two, s, "2")
	f.lose("two")
	f.over = []string{"two"}
	one.do(os.Rename(f.folder+"-of-one", f.folder))
	other, err := one.Create(t.Context(), session.Create{Cwd: filepath.Join(f.folder, "below")})
	one.do(err)
	now, err := one.Lookup(t.Context(), s.ID)
	one.do(err)
	f.refused(one, now, "other sessions of this node work in")
	f.has("1")
	_, err = one.Delete(t.Context(), other.ID)
	one.do(err)
	one.do(one.Own(t.Context(), now))
	f.has("2")
	if aside, err := os.ReadFile(filepath.Join(f.folder+".before", inFolder)); string(aside) != "1" {
		t.Errorf("put aside is %q, %v", aside, err)
	}
}

// A session is not taken over without the last turn's changes to its folder; an unreachable remote may be back soon.
// The changes of a cut-off turn are lost, which the transcript says.
func TestAFolderIsRestoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := newFoldersKit(t)
	one, two := f.node("one"), f.node("two")
	s := f.session(one, "1")
	turn := func() string {
		turn := one.send(s.ID)
		one.fake.end(s.ID, turn, runtime.TurnDone)
		one.flush()
		return turn
	}
	f.write("refused")
	turn()
	one.eventually("the reason is noted", func() bool { return f.row(s.ID).Refusal != "" })
	f.over = []string{"one"}
	f.refused(two, s, "it is refused")
	f.turn(one, s, "2")
	if refusal := f.row(s.ID).Refusal; refusal != "" {
		t.Errorf("refused is %q still", refusal)
	}
	f.remote.mu.Lock()
	f.remote.away = true
	f.remote.mu.Unlock()
	f.write("3")
	unstored := turn()
	f.refused(two, s, "was not stored")
	f.remote.mu.Lock()
	f.remote.away = false
	f.remote.mu.Unlock()
	one.eventually("the folder is stored", func() bool { return f.row(s.ID).TurnID == unstored })
	one.send(s.ID) // it never ends
	one.flush()
	one.close()
	one.do(two.EndNode(t.Context(), "one", func(context.Context, database.Tx) error { return nil }))
	one.do(os.RemoveAll(f.folder))
	f.remote.away = true
	if err := two.Own(t.Context(), s); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("with the remote away: %v", err)
	}
	f.remote.away = false
	two.do(two.Own(t.Context(), s))
	f.has("3")
	entries := two.stored(s.ID)
	if last := entries[len(entries)-1]; last.Type != typeFolderRestored || !strings.Contains(last.Content, "at node one only") {
		t.Errorf("the last entry is %+v", last)
	}
}

// A killed server stores at its next start what it had not stored; the stored folders of deleted sessions are removed.
func TestFoldersAreStoredAfterARestart(t *testing.T) {
	t.Parallel()
	f := newFoldersKit(t)
	one := f.node("one")
	s := f.session(one, "1")
	f.remote.mu.Lock()
	f.remote.away = true
	f.remote.mu.Unlock()
	f.write("2")
	turn := one.send(s.ID)
	one.fake.end(s.ID, turn, runtime.TurnDone)
	one.flush()
	one.close()
	f.remote.away = false
	again := f.node("one")
	again.eventually("the folder is stored", func() bool { return f.row(s.ID).TurnID == turn })
	if got := f.remote.stored[s.ID+"/0"]; got != "2" {
		t.Errorf("stored is %q", got)
	}
	_, err := again.Delete(t.Context(), s.ID)
	again.do(err)
	again.eventually("nothing is stored", func() bool {
		f.remote.mu.Lock()
		defer f.remote.mu.Unlock()
		return len(f.remote.stored) == 0
	})
}
