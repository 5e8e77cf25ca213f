package manager

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/rewind"
	"harness/internal/services/session/store"
	"harness/internal/services/workingtree"
	"harness/tests/dbtest"
)

// rewound is a kit whose sessions work in a folder of which states are stored.
type rewound struct {
	*kit
	folder, data string
	trees        *workingtree.Service
	// killAt is the step at which the server is killed.
	killAt atomic.Value
}

// killed is the panic that stands for the end of the server.
type killed struct{}

func openRewound(t *testing.T, db *database.DB) *rewound {
	t.Helper()
	r := &rewound{folder: filepath.Join(t.TempDir(), "work"), data: t.TempDir()}
	if err := os.Mkdir(r.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	r.kit = openWith(t, db, "node", r.options(t))
	return r
}

func (r *rewound) options(t *testing.T) func(o *Options) {
	t.Helper()
	return func(o *Options) {
		db := o.DB
		r.trees = workingtree.New(workingtree.Options{Dir: filepath.Join(r.data, "shadows"), Logger: zerolog.Nop(),
			FolderOf: func(ctx context.Context, id string) (string, error) {
				found, err := store.ReadSession(ctx, db.Read(), id)
				return found.Cwd, err
			}})
		if err := r.trees.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		trees := r.trees
		t.Cleanup(func() { _ = trees.Stop(context.Background()) })
		o.Trees, o.RewindTrees = r.trees, r.trees
		o.RewindStep = func(name string) {
			if name == r.killAt.Load() {
				panic(killed{})
			}
		}
	}
}

// restart is kill -9 followed by a new start, with a runtime that still has its conversations.
func (r *rewound) restart() {
	r.t.Helper()
	r.do(r.trees.Stop(r.t.Context()))
	r.close()
	before := r.fake
	edit := r.options(r.t)
	r.kit = openWith(r.t, r.db, r.opts.NodeID, func(o *Options) {
		edit(o)
		now := o.Runtimes.Adapters[0].(*fake)
		now.threads, now.nextTurn = before.threads, before.nextTurn
	})
}

// turnThat runs a turn that does something in the folder.
func (r *rewound) turnThat(sessionID, does string) (turnID string) {
	r.t.Helper()
	turnID = r.send(sessionID)
	r.write(does)
	r.fake.item(sessionID, turnID, runtime.Item{ID: does, Role: "user", Type: "userMessage", Content: does}, true)
	r.end(sessionID, turnID)
	_, err := r.fake.withThread(sessionID, func(t *runtime.Thread) {
		t.Turns = append(t.Turns, runtime.Turn{ID: turnID, Status: runtime.TurnDone})
	})
	r.do(err)
	_, err = r.trees.PlanRewind(r.t.Context(), sessionID, r.folder, turnID) // the end of the turn is stored
	r.do(err)
	return turnID
}

// write writes files: "a=1 b=2"; a name without a text is removed.
func (r *rewound) write(files string) {
	r.t.Helper()
	for file := range strings.FieldsSeq(files) {
		name, text, there := strings.Cut(file, "=")
		path := filepath.Join(r.folder, name)
		if there {
			r.do(os.WriteFile(path, []byte(text), 0o644))
		} else {
			r.do(os.Remove(path))
		}
	}
}

func (r *rewound) files() string {
	r.t.Helper()
	entries, err := os.ReadDir(r.folder)
	r.do(err)
	var all []string
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(r.folder, entry.Name()))
		r.do(err)
		all = append(all, entry.Name()+"="+string(text))
	}
	return strings.Join(all, " ")
}

func (r *rewound) want(what, files, entries string) {
	r.t.Helper()
	if got := r.files(); got != files {
		r.t.Errorf("%s: the files are %q, want %q", what, got, files)
	}
	if got := strings.Join(r.shows(r.session()), "|"); got != entries {
		r.t.Errorf("%s: the transcript has %q, want %q", what, got, entries)
	}
}

// session returns the first session.
func (r *rewound) session() string {
	r.t.Helper()
	ids, err := database.ReadTexts(r.t.Context(), r.db.Read(), "list sessions", `select id from sessions order by created_at limit 1`)
	r.do(err)
	return ids[0]
}

func (r *rewound) inFolder() string {
	r.t.Helper()
	made, err := r.Create(r.t.Context(), session.Create{Cwd: r.folder})
	r.do(err)
	return made.ID
}

// killedAt rewinds a session, and kills the server at a step.
func (r *rewound) killedAt(step, sessionID string, in rewind.Request) (done rewind.Result) {
	r.t.Helper()
	// Another rewind of the session ends first: the new start may still be finishing one.
	planned := in
	planned.DryRun = true
	if _, err := r.Rewinds.Rewind(r.t.Context(), sessionID, planned); err != nil {
		r.t.Fatal(err)
	}
	r.killAt.Store(step)
	func() {
		defer func() {
			if got := recover(); got != nil {
				if _, is := got.(killed); !is {
					panic(got)
				}
			} else if step != "" {
				r.t.Errorf("the server was not killed at %s", step)
			}
		}()
		var err error
		done, err = r.Rewinds.Rewind(r.t.Context(), sessionID, in)
		r.do(err)
	}()
	r.killAt.Store("")
	return done
}

// WT-15, WT-16
func TestARewindIsFinishedAfterAKill(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"", "begin", "before files", "after files", "before conversation", "after conversation", "done"} {
		t.Run("at "+step, func(t *testing.T) {
			t.Parallel()
			r := openRewound(t, dbtest.Open(t, database.SQLite))
			sess := r.inFolder()
			r.write("hand=0")
			first := r.turnThat(sess, "a=1 b=1")
			second := r.turnThat(sess, "a=2 c=2")
			third := r.turnThat(sess, "b d=3")
			r.write("mine=1")
			both := rewind.Request{TurnID: second, Files: true, Conversation: true}
			r.killedAt(step, sess, both)
			r.restart()
			r.eventually("the rewind is finished", func() bool {
				open, err := database.ReadTexts(t.Context(), r.db.Read(), "list", `select id from rewinds where step <> 'done'`)
				return err == nil && len(open) == 0
			})
			if step == "begin" {
				r.want("not begun", "a=2 c=2 d=3 hand=0 mine=1", "a=1 b=1|a=2 c=2|b d=3")
				r.killedAt("", sess, both)
			}
			r.want("rewound", "a=1 b=1 hand=0 mine=1", "a=1 b=1")
			if gone := r.one("session_rolled_back"); !strings.Contains(gone, second) || !strings.Contains(gone, third) || strings.Contains(gone, first) {
				t.Errorf("taken out: %s", gone)
			}
			ids, err := database.ReadTexts(t.Context(), r.db.Read(), "list", `select id from rewinds`)
			if err != nil || len(ids) != 1 || len(r.events(rewind.EventRewound)) != 1 {
				t.Fatalf("%d rewinds, %d events (%v)", len(ids), len(r.events(rewind.EventRewound)), err)
			}
			undo := rewind.Request{Undo: ids[0], Files: true, Conversation: true}
			r.killedAt(step, sess, undo)
			r.restart()
			r.eventually("the undo is finished", func() bool {
				open, err := database.ReadTexts(t.Context(), r.db.Read(), "list", `select id from rewinds where step <> 'done'`)
				return err == nil && len(open) == 0
			})
			if step == "begin" {
				r.killedAt("", sess, undo)
			}
			r.want("undone", "a=2 c=2 d=3 hand=0 mine=1", "a=1 b=1|a=2 c=2|b d=3")
			if again, err := store.NeedsReplay(t.Context(), r.db.Read(), sess); err != nil || !again {
				t.Errorf("the runtime is not sent the conversation: %v, %v", again, err)
			}
		})
	}
}

// WT-17
func TestWhatRefusesARewind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) { refusals(t, openRewound(t, db)) })
}

func refusals(t *testing.T, r *rewound) {
	t.Helper()
	sess := r.inFolder()
	first := r.turnThat(sess, "a=1 b=1")
	both := rewind.Request{TurnID: first, Files: true, Conversation: true}
	refused := func(what string, in rewind.Request, is func(error) bool) {
		t.Helper()
		before := r.files()
		if _, err := r.Rewinds.Rewind(t.Context(), sess, in); !is(err) || r.files() != before {
			t.Errorf("%s: %v", what, err)
		}
	}
	isA := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	refused("an unknown turn", rewind.Request{TurnID: "none", Files: true}, isA(workingtree.ErrUnknownTurn))
	running := r.send(sess)
	refused("a running turn", both, isA(runtime.ErrTurnActive))
	r.end(sess, running)
	_, err := r.trees.PlanRewind(t.Context(), sess, r.folder, first) // the end of the turn is stored
	r.do(err)
	other := r.inFolder()
	running = r.send(other)
	refused("a turn of another session", both, func(err error) bool {
		var shared *rewind.SharedError
		return errors.As(err, &shared) && shared.SessionID == other
	})
	r.end(other, running)
	r.write("a=mine c=mine")
	conflicts := func(err error) bool {
		var conflict *workingtree.ConflictError
		return errors.As(err, &conflict) && slices.Equal(conflict.Paths, []string{"a"})
	}
	refused("a file that a person changed", both, conflicts)
	planned, err := r.Rewinds.Rewind(t.Context(), sess, rewind.Request{TurnID: first, Files: true, Conversation: true, DryRun: true})
	if err != nil || planned.Files != 2 || !slices.Equal(planned.Changed, []string{"a"}) || planned.Conversation != rewind.RolledBack ||
		r.files() != "a=mine b=1 c=mine" {
		t.Errorf("planned: %+v, %v", planned, err)
	}
	both.Force = true
	done, err := r.Rewinds.Rewind(t.Context(), sess, both)
	if err != nil || r.files() != "c=mine" || done.Conversation != rewind.RolledBack {
		t.Fatalf("by force: %+v, %v; %s", done, err, r.files())
	}
	refused("a turn that is gone", both, isA(workingtree.ErrUnknownTurn))
	r.write("a=again")
	refused("an undo over a new file", rewind.Request{Undo: done.ID}, conflicts)
	r.turnThat(sess, "d=1")
	refused("an undo after another turn", rewind.Request{Undo: done.ID, Force: true}, func(err error) bool {
		var not *rewind.NotUndoableError
		return errors.As(err, &not)
	})
}
