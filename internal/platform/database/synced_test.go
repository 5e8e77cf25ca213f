package database

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// heldSync is a log whose syncs wait to be released.
type heldSync struct {
	asked, let chan struct{}
	path       atomic.Value // path of the last file
}

func newHeldSync() *heldSync {
	return &heldSync{asked: make(chan struct{}, 16), let: make(chan struct{})}
}

func (h *heldSync) sync(log *os.File) error {
	h.path.Store(log.Name())
	h.asked <- struct{}{}
	<-h.let
	return log.Sync()
}

func insert(ctx context.Context, value string) func(tx Tx, _ []int64) (Last, error) {
	return func(tx Tx, _ []int64) (Last, error) {
		_, err := tx.ExecContext(ctx, `insert into t (v) values ($1)`, value)
		return Last{}, err
	}
}

const one = `select 1`

// No reader sees a transaction that a loss of power could undo. The next one runs in the meantime, and is synced with
// the ones before it.
func TestNothingIsVisibleBeforeItIsSynced(t *testing.T) {
	t.Parallel()
	held := newHeldSync()
	close(held.let) // open
	db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db"), Sync: held.sync}, writerPages)
	<-held.asked
	held.let = make(chan struct{})

	first, err := db.UpdateHolding(t.Context(), one, insert(t.Context(), "first"))
	if err != nil || first.Certain() {
		t.Fatalf("certain %t, %v", first.Certain(), err)
	}
	synced, updated, read, snapshot := make(chan error, 1), make(chan error, 1), make(chan error, 2), make(chan error, 1)
	go func() { synced <- first.Synced(t.Context()) }()
	<-held.asked // the first sync is in progress, and the next transactions run
	count := func(q Querier) error {
		var n int
		err := q.QueryRowContext(t.Context(), `select count(*) from t`).Scan(&n)
		if n == 0 {
			err = errors.Join(err, errors.New("no rows"))
		}
		return err
	}
	go func() {
		updated <- db.Update(t.Context(), func(tx Tx) error { _, err := insert(t.Context(), "second")(tx, nil); return err })
	}()
	go func() { read <- count(db.Read()) }()
	go func() {
		rows, err := db.Read().QueryContext(t.Context(), `select v from t`) //nolint:rowserrcheck // whether it begins is the question
		if err == nil {
			err = rows.Close() //nolint:sqlclosecheck // its error counts
		}
		read <- err
	}()
	go func() { snapshot <- db.Snapshot(t.Context(), count) }()
	third, err := db.UpdateHolding(t.Context(), one, insert(t.Context(), "third"))
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = db.Read().QueryContext(soon, `select v from t`) //nolint:sqlclosecheck,rowserrcheck // there are none
	for name, err := range map[string]error{"Synced": third.Synced(soon), "a read": err, "a snapshot": db.Snapshot(soon, count)} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s did not wait for the sync: %v", name, err)
		}
	}
	for name, done := range map[string]chan error{"Synced": synced, "Update": updated, "a read": read, "a snapshot": snapshot} {
		select {
		case err := <-done:
			t.Errorf("%s did not wait for the sync: %v", name, err)
		default:
		}
	}
	close(held.let)
	for _, done := range []chan error{synced, updated, read, read, snapshot} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := third.Synced(t.Context()); err != nil || !third.Certain() {
		t.Errorf("certain %t, %v", third.Certain(), err)
	}
	if more := len(held.asked); more > 3 {
		t.Errorf("%d more syncs for what one would do", more)
	}
}

// After a failed sync the system may report pages as written that are not. So everything is written again, to the
// database, before it is published; reads continue in the meantime.
func TestAFailedSyncIsMadeUpFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	var failing atomic.Bool
	db := openLog(t, Options{Path: path, Sync: func(log *os.File) error {
		if failing.Load() {
			return &os.PathError{Op: "sync", Path: log.Name(), Err: syscall.EIO}
		}
		return log.Sync()
	}}, writerPages)
	failing.Store(true)
	stored, err := db.UpdateHolding(t.Context(), one, insert(t.Context(), "held"))
	if err != nil {
		t.Fatal(err)
	}
	err = stored.Synced(t.Context())
	if !Transient(err) || !errors.Is(err, syscall.EIO) || stored.Certain() {
		t.Fatalf("certain %t, %v", stored.Certain(), err)
	}
	if reason := Reason(err); reason == Reason(errors.New("another")) {
		t.Errorf("the reason is %q", reason)
	}
	var v string
	if err := db.Read().QueryRowContext(t.Context(), `select v from t`).Scan(&v); err != nil || v != "held" {
		t.Errorf("read %q, %v", v, err)
	}
	failing.Store(false) // like the system: the next sync of the same file succeeds, whether or not the data was written
	if err := stored.Synced(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The database contains it, without its log.
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "alone.db")
	if err := os.WriteFile(alone, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	copied, err := Open(t.Context(), Options{Path: alone})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = copied.Close() }()
	v = ""
	if err := copied.Read().QueryRowContext(t.Context(), `select v from t`).Scan(&v); err != nil || v != "held" {
		t.Errorf("the database has %q, %v", v, err)
	}
	commits(t, db, 2, "after")
}

// The synced log is the one being written, also behind a symbolic link, and after the connection was reopened.
func TestTheLogThatIsWrittenIsSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "log.db")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600),
		os.Symlink(path, filepath.Join(dir, "link.db"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	real, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(real.Update(t.Context(), func(tx Tx) error {
		_, err := tx.ExecContext(t.Context(), `create table first (id integer)`)
		return err
	}), real.Close()); err != nil {
		t.Fatal(err)
	}
	var synced []os.FileInfo
	db := openLog(t, Options{Path: filepath.Join(dir, "link.db"), Sync: func(log *os.File) error {
		info, err := log.Stat()
		synced = append(synced, info)
		return err
	}}, writerPages)
	if err := db.writer.with(t.Context(), func(*sql.Conn) error { return db.writer.drop() }); err != nil {
		t.Fatal(err)
	}
	commits(t, db, 1, "x")
	written, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if last := synced[len(synced)-1]; !os.SameFile(last, written) {
		t.Errorf("synced %s, wrote %s", last.Name(), written.Name())
	}
}

// If the synced length of the log cannot be recorded, no commit fails, and the error is reported once.
func TestALogThatCannotBeMarkedIsReported(t *testing.T) {
	t.Parallel()
	var reported []error // appended by each sync, one after the other
	db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db"), Unmarked: func(err error) { reported = append(reported, err) }},
		writerPages)
	commits(t, db, 3, "marked")
	log := db.writer.log
	<-log.turn
	if err := log.marker.Close(false); err != nil { // like a file whose disk is gone
		t.Error(err)
	}
	log.turn <- struct{}{}
	commits(t, db, 3, "not marked")
	<-log.turn
	defer func() { log.turn <- struct{}{} }()
	if len(reported) != 1 || !errors.Is(reported[0], os.ErrClosed) {
		t.Errorf("reported are %v", reported)
	}
}
