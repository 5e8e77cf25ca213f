package operations_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

func (s *site) child(parentID, key string) session.Session {
	s.t.Helper()
	child, err := s.StartChild(s.t.Context(), parentID, operations.ChildStart{Key: key})
	s.do(err)
	return child
}

// parent creates a session that works in a folder of the site.
func (s *site) parent() session.Session {
	s.t.Helper()
	s.do(os.MkdirAll(filepath.Join(s.dir, "work", "below"), 0o700))
	level := "workspace-write"
	made, err := s.sessions.Create(s.t.Context(), session.Create{Cwd: filepath.Join(s.dir, "work"), FilesystemSandbox: &level,
		NonInteractive: true})
	s.do(err)
	return made
}

// MC-01: A child has at most the rights of its parent, whatever it requests, and works in the parent's folder.
func TestAChildIsNotWiderThanItsParent(t *testing.T) {
	t.Parallel()
	s, _ := openScripted(t, dbtest.Open(t, database.SQLite))
	parent := s.parent()
	outside := filepath.Join(s.dir, "outside")
	s.do(os.Mkdir(outside, 0o700))
	s.do(os.Symlink(outside, filepath.Join(parent.Cwd, "link")))
	text := func(text string) *string { return &text }
	for name, in := range map[string]operations.ChildStart{
		"sandbox":        {FilesystemSandbox: text("danger-full-access")},
		"no such level":  {FilesystemSandbox: text("anything")},
		"network":        {NetworkAccess: text("enabled")},
		"approval":       {ApprovalPolicy: text("never")},
		"cwd":            {Cwd: outside},
		"cwd above":      {Cwd: ".."},
		"cwd by a link":  {Cwd: "link"},
		"cwd of no name": {Cwd: s.dir},
	} {
		in.Key = name
		_, err := s.StartChild(t.Context(), parent.ID, in)
		if failure := operations.Classify(err); failure.Code != operations.CodeWiderThanParent {
			t.Errorf("%s: %v (%s)", name, err, failure.Code)
		}
	}
	same := s.child(parent.ID, "same")
	if same.Cwd != parent.Cwd || same.Controls.FilesystemSandbox != "workspace-write" || !same.Controls.NonInteractive {
		t.Errorf("the child is %+v", same)
	}
	narrower, err := s.StartChild(t.Context(), parent.ID, operations.ChildStart{Key: "narrower", Cwd: "below",
		FilesystemSandbox: text("read-only"), Title: "a part"})
	s.do(err)
	if filepath.Base(narrower.Cwd) != "below" || narrower.Controls.FilesystemSandbox != "read-only" || narrower.Title != "a part" {
		t.Errorf("the narrower child is %+v", narrower)
	}
}

// MC-02: The lineage is stored with the session and its event. A repeated request gets the same session, another one
// with its key none.
func TestAChildIsStartedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, _ := openScripted(t, db)
		parent := s.parent()
		turn := s.send(parent.ID, "MOCK_HOLD")
		child := s.child(parent.ID, "k")
		if again := s.child(parent.ID, "k"); again.ID != child.ID {
			t.Errorf("started again: %s and %s", child.ID, again.ID)
		}
		_, err := s.StartChild(t.Context(), parent.ID, operations.ChildStart{Key: "k", Cwd: "below"})
		if operations.Classify(err).Code != operations.CodeKeyReused {
			t.Errorf("the key of another request: %v", err)
		}
		below, err := s.Descendants(t.Context(), parent.ID)
		s.do(err)
		want := session.Lineage{SessionID: child.ID, ParentID: parent.ID, RootID: parent.ID, Depth: 1, TurnID: turn}
		if len(below) != 1 || below[0].Request == "" {
			t.Fatalf("below are %+v", below)
		}
		if below[0].Key, below[0].Request = "", ""; below[0] != want {
			t.Errorf("the lineage is %+v, want %+v", below[0], want)
		}
		var events int
		s.do(db.Read().QueryRowContext(t.Context(), `select count(*) from journal_events where session_id = $1 and type = $2`,
			child.ID, session.EventStartedBySession).Scan(&events))
		if events != 1 {
			t.Error("no event of the start")
		}
	})
}

// MC-03: A tree has limits: 3 levels, 8 living children of a session. An archived child makes room.
func TestATreeOfSessionsHasLimits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, _ := openScripted(t, db)
		root := s.parent()
		limited := func(parentID string) bool {
			_, err := s.StartChild(t.Context(), parentID, operations.ChildStart{Key: "one more"})
			return operations.Classify(err).Code == operations.CodeLimitReached
		}
		deep := root
		for range 3 {
			deep = s.child(deep.ID, "deeper")
		}
		if !limited(deep.ID) {
			t.Error("a fourth level")
		}
		for i := range 7 {
			s.child(root.ID, strconv.Itoa(i))
		}
		if !limited(root.ID) {
			t.Error("a ninth child")
		}
		_, err := s.Archive(t.Context(), deep.ID)
		s.do(err)
		below, err := s.Descendants(t.Context(), root.ID)
		s.do(err)
		_, err = s.Archive(t.Context(), below[0].SessionID)
		s.do(err)
		s.child(root.ID, "after the archive")
	})
}

// MC-03: A tree starts at most 30 sessions an hour, and has at most 32 that are not archived. The refusal says when the
// hour has passed.
func TestATreeOfSessionsGrowsSlowly(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	s, _ := openScripted(t, db)
	root := s.parent()
	hourLater := func() {
		t.Helper()
		s.do(db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `update session_lineage set created_at = created_at - 3600001`)
			return err
		}))
	}
	refused := func(parentID string) operations.Failure {
		t.Helper()
		_, err := s.StartChild(t.Context(), parentID, operations.ChildStart{Key: "one more"})
		failure := operations.Classify(err)
		if failure.Code != operations.CodeLimitReached {
			t.Fatalf("one more session: %v", err)
		}
		return failure
	}
	var below []session.Session
	for i := range 30 { // 7 children of the root, and theirs
		parent := root
		if i >= 7 {
			parent = below[i%7]
		}
		below = append(below, s.child(parent.ID, strconv.Itoa(i)))
	}
	if failure := refused(root.ID); failure.RetryAfter <= 0 || failure.RetryAfter > time.Hour || !failure.Retry {
		t.Errorf("the 31st within an hour: %+v", failure)
	}
	hourLater()
	s.child(below[0].ID, "31")
	s.child(below[1].ID, "32")
	if failure := refused(root.ID); failure.Retry {
		t.Errorf("the 33rd: %+v", failure)
	}
	_, err := s.Archive(t.Context(), below[29].ID)
	s.do(err)
	s.child(root.ID, "after the archive")
}

// MC-04: A session owns itself and its descendants; others do not exist for it, whether sibling, parent or unknown.
func TestASessionOwnsItsDescendants(t *testing.T) {
	t.Parallel()
	s, _ := openScripted(t, dbtest.Open(t, database.SQLite))
	root := s.parent()
	child, sibling := s.child(root.ID, "1"), s.child(root.ID, "2")
	grandchild := s.child(child.ID, "3")
	for name, of := range map[string][2]string{"sibling": {child.ID, sibling.ID}, "parent": {child.ID, root.ID},
		"unknown": {child.ID, "no-such-session"}, "nephew": {sibling.ID, grandchild.ID}} {
		if err := s.CheckOwn(t.Context(), of[0], of[1]); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, of := range [][2]string{{root.ID, root.ID}, {root.ID, grandchild.ID}, {child.ID, grandchild.ID}} {
		s.do(s.CheckOwn(t.Context(), of[0], of[1]))
	}
}

// MC-05: Interrupting a session interrupts the sessions below it, also while it is idle itself.
func TestInterruptingARootInterruptsItsTree(t *testing.T) {
	t.Parallel()
	s, _ := openScripted(t, dbtest.Open(t, database.SQLite))
	root := s.parent()
	child := s.child(root.ID, "1")
	grandchild := s.child(child.ID, "2")
	turns := map[string]string{child.ID: s.send(child.ID, "MOCK_HOLD"), grandchild.ID: s.send(grandchild.ID, "MOCK_HOLD")}
	if _, err := s.Interrupt(t.Context(), root.ID, ""); !errors.Is(err, session.ErrNoActiveTurn) {
		t.Errorf("interrupted an idle session: %v", err)
	}
	for id, turn := range turns {
		s.ended(id, turn)
		if state, _, err := s.sessions.Reader.Turn(t.Context(), id, turn); err != nil || state.Status != runtime.TurnInterrupted {
			t.Errorf("the turn is %+v, %v", state, err)
		}
	}
}

// MC-06: Deleting a session archives the sessions below it.
func TestDeletingASessionArchivesItsDescendants(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, _ := openScripted(t, db)
		root := s.parent()
		child := s.child(root.ID, "1")
		grandchild := s.child(child.ID, "2")
		_, err := s.Delete(t.Context(), root.ID)
		s.do(err)
		for _, id := range []string{child.ID, grandchild.ID} {
			if found, err := s.sessions.Reader.Stored(t.Context(), id); err != nil || !found.Archived {
				t.Errorf("%s is archived: %v, %v", id, found.Archived, err)
			}
		}
	})
}
