package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/session/takeover"
	"harness/internal/services/session/workspace"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// portableFake stores each conversation in a file below a folder of its node.
type portableFake struct {
	*fake
	folder string
	node   string
	// behind means that it has not written its output yet.
	behind atomic.Bool
}

func (f *portableFake) SnapshotFiles(in runtime.ResumeThread) (folder string, names []string, err error) {
	names, err = fs.Glob(os.DirFS(f.folder), "sessions-of-"+f.node+"/"+in.ThreadID+"*.jsonl")
	return f.folder, names, err
}

func (f *portableFake) SnapshotWritten(context.Context, runtime.ResumeThread) (bool, error) {
	return !f.behind.Load(), nil
}

// SnapshotPath returns a path in a folder that each node chooses for itself.
func (f *portableFake) SnapshotPath(_ runtime.ResumeThread, _, name string) (string, error) {
	return "sessions-of-" + f.node + "/" + filepath.Base(name), nil
}

func (f *portableFake) file(id string) string {
	return filepath.Join(f.folder, "sessions-of-"+f.node, id+".jsonl")
}

// openPortable opens a node with such a runtime; over lists the nodes that are dead.
func openPortable(t *testing.T, db *database.DB, node string, over *[]string) (*kit, *portableFake) {
	t.Helper()
	portable := &portableFake{folder: t.TempDir(), node: node}
	if err := os.Mkdir(filepath.Dir(portable.file("")), 0o700); err != nil {
		t.Fatal(err)
	}
	k := openWith(t, db, node, func(o *Options) {
		portable.fake = o.Runtimes.Adapters[0].(*fake)
		o.Runtimes.Adapters[0] = portable
		o.Movable = true
		o.Lapsed = func(_ context.Context, _ database.Querier, node string) (bool, error) {
			return slices.Contains(*over, node), nil
		}
	})
	return k, portable
}

// remember runs a turn that the runtime records, and waits until the record is stored.
func (k *kit) remember(file, content string, s session.Session) {
	k.t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		k.t.Fatal(err)
	}
	turn := k.send(s.ID)
	k.fake.end(s.ID, turn, runtime.TurnDone)
	if !polling.Until(patience, func() bool {
		row, _, err := store.ReadSnapshot(k.t.Context(), k.db.Read(), s.ID)
		k.do(err)
		return row.TurnID == turn
	}) {
		k.t.Fatal("what the runtime remembers was not stored")
	}
}

// A runtime's growing state is stored in whole lines, even when the runtime rewrites its file. A node that takes over
// the session has the same state, in place of its old one.
func TestWhatARuntimeRemembersIsStoredAndRestored(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	var over []string
	one, memory := openPortable(t, db, "one", &over)
	two, copied := openPortable(t, db, "two", &over)
	s, err := one.Create(t.Context(), session.Create{Cwd: t.TempDir()})
	one.do(err)
	long := string(slices.Repeat([]byte("0123456789abcde\n"), takeover.PartBytes/16+3))
	for _, content := range []string{"first\n", "first\nsecond\n", "first\nsecond\nthird\nhalf of a li", "anew\n" + long, "shorter\n",
		"shorter\n" + long} {
		one.remember(memory.file(s.ID), content, s)
	}
	if err := os.WriteFile(copied.file(s.ID), []byte("what it had before, which is longer\n"+long+long), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := two.Own(t.Context(), s); !errors.As(err, new(*session.NotOwnerError)) {
		t.Errorf("a session of a node that lives: %v", err)
	}
	over = []string{"one"}
	two.do(two.Own(t.Context(), s))
	if got, err := os.ReadFile(copied.file(s.ID)); err != nil || string(got) != "shorter\n"+long {
		t.Errorf("restored are %d bytes, %v", len(got), err)
	}
	if got, err := two.Lookup(t.Context(), s.ID); err != nil || got.NodeID != "two" || got.Epoch != 1 {
		t.Errorf("the session is of %s in epoch %d, %v", got.NodeID, got.Epoch, err)
	}
	if taken := two.one(session.EventTaken); !strings.Contains(taken, `"memory":"restored"`) {
		t.Errorf("it was taken as %s", taken)
	}
	// The former owner learns of the takeover, unloads the conversation, and stores no more of it.
	if !polling.Until(patience, func() bool {
		one.fake.mu.Lock()
		defer one.fake.mu.Unlock()
		return slices.Contains(one.fake.closed, s.ID)
	}) {
		t.Error("the former owner's runtime keeps the conversation loaded")
	}
	if one.Moved.Load() != 1 || two.Moved.Load() != 1 {
		t.Errorf("the nodes have counted %d and %d moves", one.Moved.Load(), two.Moved.Load())
	}
}

// If the runtime renames a file and creates another one under its name, both are stored. A file that no longer has a
// name is not written on the next node.
func TestWhatARuntimeRemembersGetsAnotherName(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	var over []string
	one, memory := openPortable(t, db, "one", &over)
	two, copied := openPortable(t, db, "two", &over)
	s, err := one.Create(t.Context(), session.Create{Cwd: t.TempDir()})
	one.do(err)
	aside := func(suffix string) {
		if err := os.Rename(memory.file(s.ID), memory.file(s.ID+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	one.remember(memory.file(s.ID), "first\n", s)
	aside("-1")
	one.remember(memory.file(s.ID), "in its place\n", s)
	var stored int
	if err := db.Read().QueryRowContext(t.Context(), `select count(distinct name) from session_memory`).Scan(&stored); err != nil ||
		stored != 2 {
		t.Errorf("%d files are stored, not the one that has another name and the one in its place: %v", stored, err)
	}
	aside("-2")
	one.remember(memory.file(s.ID+"-1"), "first\nsecond\n", s)
	over = []string{"one"}
	two.do(two.Own(t.Context(), s))
	for suffix, want := range map[string]string{"": "", "-1": "first\nsecond\n", "-2": "in its place\n"} {
		if got, err := os.ReadFile(copied.file(s.ID + suffix)); string(got) != want || (want == "") != (err != nil) {
			t.Errorf("%q is %q, %v", suffix, got, err)
		}
	}
}

// If the runtime runs as another user, restored files belong to that user, who owns its home.
func TestWhatIsRestoredBelongsToTheRuntimesUser(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	var over []string
	one, memory := openPortable(t, db, "one", &over)
	two, copied := openPortable(t, db, "two", &over)
	s, err := one.Create(t.Context(), session.Create{Cwd: t.TempDir()})
	one.do(err)
	one.remember(memory.file(s.ID), "first\n", s)
	user := os.Geteuid()
	if user == 0 { // only root can start a runtime as another user
		user = 4711
		if err := os.Chown(copied.folder, user, user); err != nil {
			t.Fatal(err)
		}
	}
	over = []string{"one"}
	two.do(two.Own(t.Context(), s))
	for _, path := range []string{copied.file(s.ID), filepath.Dir(copied.file(s.ID))} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != user {
			t.Errorf("%s is of user %d, not %d", path, owner, user)
		}
	}
}

// The end of a turn counts as stored only after the runtime has written the turn's output. A node that takes over the
// session earlier replays the conversation if the runtime accepts that. Otherwise it waits for the output.
func TestWhatARuntimeHasNotWrittenDownIsWaitedFor(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	var over []string
	one, memory := openPortable(t, db, "one", &over)
	two, copied := openPortable(t, db, "two", &over)
	s, err := one.Create(t.Context(), session.Create{Cwd: t.TempDir()})
	one.do(err)
	memory.behind.Store(true)
	turn := one.send(s.ID)
	one.fake.end(s.ID, turn, runtime.TurnDone)
	kept := func() (row store.Snapshot, known bool) {
		row, known, err := store.ReadSnapshot(t.Context(), db.Read(), s.ID)
		one.do(err)
		return row, known
	}
	one.eventually("its folder was marked", func() bool { _, known := kept(); return known })
	if row, _ := kept(); row.TurnID != "" {
		t.Errorf("the turn %s counts as remembered", row.TurnID)
	}
	if err := os.WriteFile(memory.file(s.ID), []byte("said\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	memory.behind.Store(false)
	one.eventually("the turn is remembered", func() bool { row, _ := kept(); return row.TurnID == turn })
	over = []string{"one"}
	two.do(two.Own(t.Context(), s))
	if got, err := os.ReadFile(copied.file(s.ID)); err != nil || string(got) != "said\n" {
		t.Errorf("restored is %q, %v", got, err)
	}
}

// A session with incomplete state here is not taken over.
func TestASessionThatWouldNotBeWholeIsNotTaken(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	var over []string
	one, memory := openPortable(t, db, "one", &over)
	two, _ := openPortable(t, db, "two", &over)
	folder := t.TempDir()
	create := func() session.Session {
		s, err := one.Create(t.Context(), session.Create{Cwd: folder})
		one.do(err)
		return s
	}
	two.fake.forgets = true // it does not accept a replay
	never, behind, running, elsewhere := create(), create(), create(), create()
	for _, s := range []session.Session{behind, running, elsewhere} {
		one.remember(memory.file(s.ID), "said\n", s)
	}
	one.do(os.Remove(memory.file(behind.ID))) // its memory of the next turn cannot be stored
	one.fake.end(behind.ID, one.send(behind.ID), runtime.TurnDone)
	one.send(running.ID)
	one.flush()
	over = []string{"one"}
	for _, s := range []session.Session{never, behind} {
		var pinned *session.PinnedError
		if err := two.Own(t.Context(), s); !errors.As(err, &pinned) || pinned.Code() != "memory_pinned" || pinned.Owner != "one" {
			t.Errorf("without all that is remembered: %v", err)
		}
	}
	if err := two.Own(t.Context(), running); !errors.As(err, new(*session.LeftOpenError)) {
		t.Errorf("with a turn that may go on: %v", err)
	}
	place, away := filepath.Join(folder, workspace.MarkerFolder), filepath.Join(t.TempDir(), "away")
	one.do(os.Rename(place, away))
	var pinned *session.PinnedError
	if err := two.Own(t.Context(), elsewhere); !errors.As(err, &pinned) || pinned.Code() != "workspace_pinned" {
		t.Errorf("in a folder that is not the same: %v", err)
	}
	for _, s := range []session.Session{never, behind, running, elsewhere} {
		if got, err := two.Lookup(t.Context(), s.ID); err != nil || got.NodeID != "one" || got.Epoch != 0 {
			t.Errorf("the session is of %s in epoch %d, %v", got.NodeID, got.Epoch, err)
		}
	}
	// A runtime that accepts a replay gets it with the next message, once.
	two.fake.forgets = false
	one.do(os.Rename(away, place))
	two.do(two.Own(t.Context(), behind))
	for _, again := range []bool{true, false} {
		turn, err := turnOf(two.Send(t.Context(), behind.ID, session.Message{Text: "next"}))
		two.do(err)
		two.fake.end(behind.ID, turn, runtime.TurnDone)
		two.flush()
		sent := two.fake.turns[len(two.fake.turns)-1]
		if (sent.History != "") != again {
			t.Errorf("sent again is %t: %q", again, sent.History)
		}
	}
}

// A session of a dead node moves only once a client asks for it, and no other session moves then. Among 10,000 others
// this takes no longer than among ten.
func TestOneOfTenThousandSessionsIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	var over []string
	one, memory := openPortable(t, db, "one", &over)
	two, _ := openPortable(t, db, "two", &over)
	s, err := one.Create(t.Context(), session.Create{Cwd: t.TempDir()})
	one.do(err)
	one.remember(memory.file(s.ID), "said\n", s)
	over = []string{"one"}
	const asked = 100
	taken := func(of string, all int) (quickest time.Duration) {
		for _, statement := range []string{
			`insert into sessions (` + store.SessionColumns + `) select $2 || n, runtime, $2 || n, node_id, project_id, title, cwd, source,
				model_provider, thread, controls, system_owned, archived, created_at, updated_at, history_at, capabilities, epoch, name,
				title_source, archived_at, archived_by, model from sessions, generate_series(1, $3::int) n where id = $1`,
			`insert into session_custody select $2 || n, '', workspace, stored_at from session_custody, generate_series(1, $3::int) n
				where session_id = $1`,
			`insert into session_memory select $2 || n, name, starts, ends, part from session_memory, generate_series(1, $3::int) n
				where session_id = $1`,
		} {
			_, err := db.Raw().ExecContext(t.Context(), statement, s.ID, of, all)
			one.do(err)
		}
		took := make([]time.Duration, 0, asked)
		for n := range min(all, asked) {
			session, err := two.Lookup(t.Context(), fmt.Sprintf("%s%d", of, n+1))
			two.do(err)
			began := time.Now()
			two.do(two.Own(t.Context(), session))
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		median, longest := took[len(took)/2], took[len(took)-1]
		t.Logf("of %d sessions %d were taken one after the other: median %s, longest %s", all, len(took), median, longest)
		if longest > time.Second {
			t.Errorf("taking one lasted %s", longest)
		}
		return took[0] // the fastest: other load only adds time
	}
	few, many := taken("few-", 10), taken("many-", 10_000)
	if ratio := float64(many) / float64(few); ratio > 2.5 {
		t.Errorf("beside 10,000 it took %.1f times as long", ratio)
	}
}
