package database

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/platform/database/wal"
	"harness/tests/bitrot"
)

// killed holds the files of a store whose server was killed, by the ends of their names.
type killed map[string][]byte

// kill copies a store's files in their current state.
func kill(t *testing.T, path string) killed {
	t.Helper()
	files := killed{}
	for _, suffix := range []string{"", "-wal", "-synced"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		files[suffix] = data
	}
	return files
}

// leave writes the files to a new folder.
func (k killed) leave(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rot.db")
	for suffix, data := range k {
		if err := os.WriteFile(path+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// with returns the files with another log.
func (k killed) with(log []byte) killed {
	changed := maps.Clone(k)
	changed["-wal"] = log
	return changed
}

// flipped returns the log with one bit changed.
func (k killed) flipped(bit int) killed {
	log := bytes.Clone(k["-wal"])
	log[bit/8] ^= 1 << (bit % 8)
	return k.with(log)
}

// synced returns how much of the log is known to be synced.
func (k killed) synced() int { return int(binary.BigEndian.Uint64(k["-synced"][16:])) }

// rows opens a store, counts its rows, and closes it.
func rows(t *testing.T, path string, mended func(int)) (n int, err error) {
	t.Helper()
	db, err := Open(t.Context(), Options{Path: path, Mended: mended})
	if err != nil {
		return 0, err
	}
	err = db.Read().QueryRowContext(t.Context(), `select count(*) from t`).Scan(&n)
	return n, errors.Join(err, db.Close())
}

// stored returns a store with n rows, one per commit, whose server was killed.
func stored(t *testing.T, opts Options, n int) killed {
	t.Helper()
	opts.Path = filepath.Join(t.TempDir(), "rot.db")
	db := openLog(t, opts, writerPages)
	for i := range n {
		commits(t, db, 1, strings.Repeat(strconv.Itoa(i), 40))
	}
	return kill(t, opts.Path)
}

// A bit that flips in the log loses nothing silently. It is repaired, byte for byte, or the store is refused. SQLite
// itself drops all commits after it.
func TestAFlippedBitInTheLogLosesNothing(t *testing.T) {
	t.Parallel()
	const all = 60
	store := stored(t, Options{}, all)
	random, tries := rand.New(rand.NewPCG(5, 6)), bitrot.Flips(t, 150)
	control, right, refused := 0, 0, 0
	for try := range tries {
		bit := random.IntN(8 * store.synced())
		if try < 8*32 && try%2 == 0 {
			bit = try / 2 % (8 * 32) // of the header
		}
		rotten := store.flipped(bit)
		if try%10 == 1 && lostBySQLite(t, rotten, all) {
			control++
		}
		path := rotten.leave(t)
		mended := 0
		n, err := rows(t, path, func(frames int) { mended += frames })
		switch {
		case errors.As(err, new(*FileError)):
			refused++
			if log, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(log, rotten["-wal"]) {
				t.Errorf("bit %d: the log was changed although the store is refused (%v)", bit, err)
			}
		case err != nil || n != all || mended != 1:
			t.Errorf("bit %d: %d of %d rows, %d frames were mended, %v", bit, n, all, mended, err)
		default:
			right++
		}
	}
	t.Logf("%d flips: %d put right, %d refused; SQLite alone lost rows in %d of %d", tries, right, refused, control, tries/10)
	if right < tries*2/3 || control == 0 {
		t.Errorf("of %d flips %d were put right; SQLite alone lost rows %d times", tries, right, control)
	}
}

// lostBySQLite reports whether SQLite shows fewer rows, and no error.
func lostBySQLite(t *testing.T, files killed, all int) bool {
	t.Helper()
	db, err := sql.Open("sqlite", files.leave(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	n := all
	err = db.QueryRowContext(t.Context(), `select count(*) from t`).Scan(&n)
	return n < all || err != nil && strings.Contains(err.Error(), "no such table")
}

// A repair restores the original bytes.
func TestAMendedLogIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	store := stored(t, Options{}, 30)
	random := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		path := store.flipped(random.IntN(8 * store.synced())).leave(t)
		if err := mendLog(path, nil); errors.As(err, new(*FileError)) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if log, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(log, store["-wal"]) {
			t.Errorf("the mended log is another one (%v)", err)
		}
	}
}

// Damage that no single bit explains is refused in the synced part of a log. In the unsynced part it is the log's end:
// a loss of power causes such damage.
func TestLogDamageIsDistinguishedFromItsEnd(t *testing.T) {
	t.Parallel()
	const all, synced = 40, 25
	path := filepath.Join(t.TempDir(), "rot.db")
	db := openLog(t, Options{Path: path}, writerPages)
	commits(t, db, synced, "synced")
	early := kill(t, path)
	commits(t, db, all-synced, "not synced")
	store := kill(t, path)
	store["-synced"] = early["-synced"]
	other := func(from, to int) killed {
		log := bytes.Clone(store["-wal"])
		copy(log[from:to], bytes.Repeat([]byte{0xa5}, to-from))
		return store.with(log)
	}
	end := store.synced()
	for name, lost := range map[string]struct {
		files killed
		says  string
		rows  int
	}{
		"a block of a synced frame":    {other(end-5000, end-4500), "frame", 0},
		"the log's header":             {other(0, 32), "header", 0},
		"a cut before the synced end":  {store.with(store["-wal"][:end-100]), "cut off", 0},
		"a cut at the synced end":      {store.with(store["-wal"][:end]), "", synced},
		"a block of what was not":      {other(end+1000, end+1500), "", synced},
		"blocks of the last of these":  {other(len(store["-wal"])-2000, len(store["-wal"])-1000), "", all - 1},
		"nothing":                      {store, "", all},
		"no log":                       {store.with(nil), "", 0},
		"the log of another beginning": {store.with(stored(t, Options{}, 3)["-wal"]), "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := lost.files.leave(t)
			n, err := rows(t, path, nil)
			if lost.says == "" {
				if err != nil && !strings.Contains(err.Error(), "no such table") || n != lost.rows {
					t.Errorf("%d rows, want %d: %v", n, lost.rows, err)
				}
				return
			}
			if !errors.As(err, new(*FileError)) || !strings.Contains(err.Error(), lost.says) {
				t.Fatalf("the error is %v", err)
			}
			if _, err := OpenReadOnly(t.Context(), Options{Path: path}); !errors.As(err, new(*FileError)) {
				t.Errorf("a look says %v", err)
			}
			// The remedy of the error.
			if err := os.Remove(path + "-synced"); err != nil {
				t.Fatal(err)
			}
			if n, err := rows(t, path, nil); err != nil && !strings.Contains(err.Error(), "no such table") || n >= all {
				t.Errorf("without the mark: %d rows, %v", n, err)
			}
		})
	}
}

// The mark is also written for a log that continues after a kill. It is not written for a log whose sync failed: how
// much of it was synced is unknown.
func TestSyncedLengthIsRecorded(t *testing.T) {
	t.Parallel()
	path := stored(t, Options{}, 3).leave(t)
	before := kill(t, path)
	var fails atomic.Bool
	db := openLogAgain(t, Options{Path: path, Sync: func(log *os.File) error {
		if fails.Load() {
			return errors.New("planted")
		}
		return log.Sync()
	}})
	commits(t, db, 3, "more")
	grown := kill(t, path)
	if !bytes.Equal(grown["-synced"][8:16], before["-synced"][8:16]) || grown.synced() <= before.synced() {
		t.Errorf("%d bytes of the log are noted, and %d before the kill", grown.synced(), before.synced())
	}
	fails.Store(true)
	commit, err := db.UpdateHolding(t.Context(), one, insert(t.Context(), "unsynced"))
	if err != nil {
		t.Fatal(err)
	}
	if err := commit.Synced(t.Context()); err == nil {
		t.Error("a sync that failed is no error")
	}
	fails.Store(false)
	// A reader keeps the log from restarting.
	if err := db.Snapshot(t.Context(), func(q Querier) error {
		if err := q.QueryRowContext(t.Context(), `select count(*) from t`).Scan(new(int)); err != nil {
			return err
		}
		if err := commit.Synced(t.Context()); err != nil {
			return err
		}
		commits(t, db, 3, "after")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	after := kill(t, path)
	if !bytes.Equal(after["-synced"], grown["-synced"]) || !bytes.Equal(after["-wal"][16:24], grown["-wal"][16:24]) {
		t.Errorf("%d bytes of the log are noted after a failed sync, and %d before", after.synced(), grown.synced())
	}
}

func openLogAgain(t *testing.T, opts Options) *DB {
	t.Helper()
	db, err := openSQLite(t.Context(), opts, writerPages)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A check of a store finds no damage while its server writes and restarts its log.
func TestALogThatIsWrittenIsNotDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rot.db")
	db := openLog(t, Options{Path: path}, writerPages)
	done := make(chan error, 1)
	go func() {
		for n := range 400 {
			err := db.Update(t.Context(), func(tx Tx) error {
				_, err := insert(t.Context(), strings.Repeat("long", 2000))(tx, nil)
				return err
			})
			if err == nil && n%40 == 39 {
				_, err = db.EmptyLog(t.Context()) // this truncates it
				<-time.After(2 * time.Millisecond)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	polls := 0
	for {
		select {
		case err := <-done:
			if err != nil || polls == 0 {
				t.Errorf("%d looks, %v", polls, err)
			}
			return
		default:
		}
		if err := wal.Check(path); err != nil {
			t.Fatal(fmt.Errorf("after %d looks: %w", polls, err))
		}
		polls++
	}
}
