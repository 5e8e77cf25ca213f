package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/mod/sumdb/note"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/audit"
	"harness/tests/dbtest"
)

// site is a journal whose events are audited.
type site struct {
	*journal.Journal
	t   *testing.T
	db  *database.DB
	key audit.Key
}

func open(t *testing.T, db *database.DB) *site {
	t.Helper()
	key, err := audit.ReadKey(filepath.Join(t.TempDir(), "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, db: db, key: key,
		Journal: journal.New(db, journal.Options{Logger: zerolog.Nop(), Before: audit.NewWriter().Write})}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// act stores n audited events and as many others.
func (s *site) act(n int) {
	s.t.Helper()
	for i := range n {
		_, err := s.Append(s.t.Context(), journal.Event{SessionID: "s", Type: "tool.call.started", Actor: "ann",
			Time: int64(i + 1), Payload: json.RawMessage(fmt.Sprintf(`{"n": %d}`, i))},
			journal.Event{SessionID: "s", Type: "transcript_updated"})
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) tamper(query string, args ...any) {
	s.t.Helper()
	err := s.db.Update(s.t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(s.t.Context(), query, args...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) verify() audit.Verdict {
	s.t.Helper()
	v, err := audit.Verify(s.t.Context(), s.db.Read(), note.VerifierList(s.key.Verifier))
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *site) checkpoint() string {
	s.t.Helper()
	signed, err := audit.Checkpoint(s.t.Context(), s, s.key, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return signed
}

// OB-02: events are sealed in order in their own transactions, even with concurrent writers, and a rolled back act
// leaves no row.
func TestActsAreSealed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() { s.act(5) })
		}
		undone := errors.New("undone")
		group.Go(func() {
			_, err := s.Commit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
				return []journal.Event{{SessionID: "s", Type: "tool.call.started"}}, undone
			})
			if !errors.Is(err, undone) {
				t.Error(err)
			}
		})
		group.Wait()
		if _, err := s.Append(t.Context(),
			journal.Event{Type: "extension.reload", Payload: json.RawMessage(`"` + strings.Repeat("x", 20<<10) + `"`)},
			journal.Event{SessionID: "s", Type: "tool.call.denied",
				Payload: json.RawMessage(strings.Repeat("[", 300) + "1e999" + strings.Repeat("]", 300))}); err != nil {
			t.Fatal(err)
		}
		if v := s.verify(); v.Rows != 22 || len(v.Faults) > 0 {
			t.Errorf("%+v", v)
		}
		rows := 0
		err := audit.Each(t.Context(), db.Read(), "s", func(row audit.Row) error {
			var kind, payload string
			rows++
			err := db.Read().QueryRowContext(t.Context(), `select type, payload from journal_events where pos = $1`, row.Pos).
				Scan(&kind, &payload)
			if kind != row.Kind || payload != string(row.Detail) || row.SessionID != "s" {
				t.Errorf("%+v is of the event %s %s", row, kind, payload)
			}
			return err
		})
		if err != nil || rows != 21 {
			t.Errorf("%d rows of the session, %v", rows, err)
		}
	})
}

// Verify names each fault: an edited or removed row, a truncated tail, a forged checkpoint.
func TestTamperingIsNamed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		if signed := s.checkpoint(); signed != "" {
			t.Errorf("an empty log is signed: %s", signed)
		}
		s.act(10)
		kept := s.checkpoint()
		if again := s.checkpoint(); kept == "" || again != "" {
			t.Errorf("signed are %q, then %q", kept, again)
		}
		if v := s.verify(); len(v.Faults) > 0 || v.Rows != 10 || v.Checkpoints != 1 || v.Signed != 10 {
			t.Fatalf("untouched: %+v", v)
		}
		s.tamper(`create table kept_log as select * from audit_log`)
		s.tamper(`create table kept_points as select * from audit_checkpoints`)
		for name, c := range map[string]struct{ change, says string }{
			"actor":        {`update audit_log set actor = 'bob' where seq = 4`, "row 4 (tool.call.started"},
			"detail":       {`update audit_log set detail = '{"n":9}' where seq = 7`, "row 7 (tool.call.started"},
			"hash":         {`update audit_log set hash = 'x' where seq = 5`, "row 5 "},
			"one removed":  {`delete from audit_log where seq = 3`, "row 3 was removed"},
			"some removed": {`delete from audit_log where seq between 3 and 5`, "rows 3 to 5 were removed"},
			"the first":    {`delete from audit_log where seq = 1`, "row 1 was removed"},
			"a cut tail":   {`delete from audit_log where seq > 6`, "row 10 was signed: its tail was cut off"},
			"everything":   {`delete from audit_log`, "row 10 was signed: its tail was cut off"},
			"a forged checkpoint": {`update audit_checkpoints set note = replace(note, '10', '11')`,
				"checkpoint of row 10 does not hold"},
		} {
			s.tamper(c.change)
			if v := s.verify(); !strings.Contains(strings.Join(v.Faults, "; "), c.says) {
				t.Errorf("%s: %v, want %q", name, v.Faults, c.says)
			}
			for _, undo := range []string{`delete from audit_log`, `delete from audit_checkpoints`,
				`insert into audit_log select * from kept_log`, `insert into audit_checkpoints select * from kept_points`} {
				s.tamper(undo)
			}
		}
		if v := s.verify(); len(v.Faults) > 0 {
			t.Fatalf("put back: %v", v.Faults)
		}
		// A writer of the store can cut off the tail with its checkpoints; a checkpoint kept elsewhere reveals it.
		s.tamper(`delete from audit_log where seq > 6`)
		s.tamper(`delete from audit_checkpoints`)
		v, err := audit.VerifyAgainst(t.Context(), db.Read(), note.VerifierList(s.key.Verifier), kept)
		if err != nil || len(v.Faults) != 1 || !strings.Contains(v.Faults[0], "row 10 of the checkpoint given is not there") {
			t.Errorf("cut with its checkpoints: %v, %v", v.Faults, err)
		}
		other := open(t, dbtest.Open(t, db.Engine()))
		if _, err := audit.VerifyAgainst(t.Context(), db.Read(), note.VerifierList(other.key.Verifier), kept); err == nil {
			t.Error("a checkpoint of another key is taken")
		}
	})
}

// Removing old rows is signed, and the rest stays valid; Verify names a further removal, or an unsigned one.
func TestWhatIsOldIsRemoved(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		s.act(10) // at 1 to 10 ms
		s.checkpoint()
		for _, step := range []struct{ before, removed int64 }{{1, 0}, {4, 3}, {4, 0}, {6, 2}, {100, 4}, {100, 0}} {
			removed, err := audit.Prune(t.Context(), s, s.key, step.before, 1)
			if v := s.verify(); err != nil || removed != step.removed || len(v.Faults) > 0 {
				t.Errorf("before %d: %d removed, %v, %v", step.before, removed, v.Faults, err)
			}
		}
		s.act(3)
		if v := s.verify(); v.Rows != 4 || len(v.Faults) > 0 {
			t.Errorf("%+v", v)
		}
		s.tamper(`delete from audit_log where seq = 10`)
		if v := s.verify(); len(v.Faults) == 0 || !strings.Contains(v.Faults[0], "row 10 was removed") {
			t.Errorf("%v", v.Faults)
		}
	})
}

// The first caller makes the key, and all others get the same one. Its public key is in the same folder, even after a
// crash in between.
func TestTheKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		path := filepath.Join(t.TempDir(), "audit.key")
		if n%2 == 1 { // the possible state after a power loss
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var asking sync.WaitGroup
		hashes := make(chan uint32, 8)
		for range cap(hashes) {
			asking.Go(func() {
				key, err := audit.ReadKey(path)
				if err != nil {
					t.Error(err)
					return
				}
				hashes <- key.Verifier.KeyHash()
			})
		}
		asking.Wait()
		close(hashes)
		for range 2 {
			public, err := audit.ReadPublic(path + ".pub")
			if err != nil {
				t.Fatal(err)
			}
			for hash := range hashes {
				if hash != public.KeyHash() {
					t.Fatalf("a caller has another key than the stored one")
				}
			}
			if err := os.Remove(path + ".pub"); err != nil {
				t.Fatal(err)
			}
			if _, err := audit.ReadKey(path); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 {
			t.Errorf("there are %v, %v", left, err)
		}
	}
}

// The key is created once and reread; a damaged one is refused.
func TestTheKeyIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.key")
	one, err := audit.ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := audit.ReadKey(path)
	if err != nil || one.Verifier.KeyHash() != two.Verifier.KeyHash() {
		t.Errorf("read again it is another: %v", err)
	}
	if _, err := audit.ReadKey(path + ".pub"); err == nil {
		t.Error("a public key is taken for a private one")
	}
}
