package artifact_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/content/artifact"
	"harness/internal/lib/objectstore"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/s3test"
)

// bucket is a real object store that fails on request.
type bucket struct {
	artifact.Objects
	fails atomic.Bool
}

// Put implements artifact.Objects.
func (b *bucket) Put(ctx context.Context, name string, content []byte) error {
	if b.fails.Load() {
		return errors.New("the object store is away")
	}
	return b.Objects.Put(ctx, name, content)
}

// inObjects is a store that keeps contents of 10 bytes and more as objects.
type inObjects struct {
	*site
	bucket *bucket
	dir    string
	ahead  atomic.Int64 // offset of the clock, in ns
}

func openObjects(t *testing.T) *inObjects {
	t.Helper()
	server := s3test.Start(t)
	store, err := objectstore.Open(server.Options)
	if err != nil {
		t.Fatal(err)
	}
	o := &inObjects{bucket: &bucket{Objects: store}, dir: server.Dir}
	o.site = open(t, dbtest.Open(t, database.Postgres), func(options *artifact.Options) {
		options.Objects, options.ObjectBytes = o.bucket, 10
		options.Now = func() time.Time { return time.Now().Add(time.Duration(o.ahead.Load())) }
	})
	return o
}

// objects counts the objects in the bucket.
func (o *inObjects) objects() (n int) {
	o.t.Helper()
	err := filepath.WalkDir(o.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return n
}

func (o *inObjects) sweep(want int64) {
	o.t.Helper()
	if got, err := o.Sweep(o.t.Context()); err != nil || got != want {
		o.t.Errorf("%d objects are swept, %v, want %d", got, err, want)
	}
}

// Long contents are objects, one for each content, served in ranges, and swept after their last artifact is deleted;
// short ones stay in the database.
func TestLongContentsAreObjects(t *testing.T) {
	t.Parallel()
	o := openObjects(t)
	long, again, short := o.put("s", "long", "text/plain", "0123456789"), o.put("s", "again", "text/plain", "0123456789"),
		o.put("s", "short", "text/plain", "012345678")
	if n, rows := o.objects(), o.kept(); n != 1 || rows != 1 {
		t.Errorf("%d objects and %d contents in rows", n, rows)
	}
	if o.read(long.ID) != "0123456789" || o.read(again.ID) != "0123456789" || o.read(short.ID) != "012345678" {
		t.Error("other bytes came back")
	}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("Range", "bytes=3-5")
	answer := httptest.NewRecorder()
	if err := o.Serve(answer, request, long.ID, false); err != nil || answer.Code != http.StatusPartialContent ||
		answer.Body.String() != "345" {
		t.Errorf("a range is %d %q, %v", answer.Code, answer.Body, err)
	}
	remove := func(id string) {
		t.Helper()
		if err := o.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	remove(long.ID)
	o.ahead.Store(int64(2 * time.Hour))
	o.sweep(0)
	remove(again.ID)
	o.sweep(1)
	if n := o.objects(); n != 0 {
		t.Errorf("%d objects are left", n)
	}
	o.sweep(0)
	if o.read(short.ID) != "012345678" {
		t.Error("the short one is gone")
	}
}

// An object without a row is swept, but not while its row may still be stored; a failing store leaves nothing behind.
func TestUnreferencedObjectsAreSwept(t *testing.T) {
	t.Parallel()
	o := openObjects(t)
	if err := o.bucket.Put(t.Context(), "artifacts/ab/abc-of-a-server-that-died", []byte("orphan")); err != nil {
		t.Fatal(err)
	}
	o.sweep(0)
	o.ahead.Store(int64(2 * time.Hour))
	o.sweep(1)
	o.bucket.fails.Store(true)
	if _, err := o.Put(t.Context(), "s", "n", "text/plain", []byte("0123456789")); err == nil || !strings.Contains(err.Error(), "is away") {
		t.Errorf("without the object store: %v", err)
	}
	var rows int
	if err := o.db.Read().QueryRowContext(t.Context(), `select count(*) from artifacts`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d artifacts, %v", rows, err)
	}
}

// A content can be stored while its last artifact is dropped, even after a sweep.
func TestAContentIsStoredWhileItIsDropped(t *testing.T) {
	t.Parallel()
	o := openObjects(t)
	const content = "0123456789"
	for range 20 {
		o.ahead.Store(0)
		first := o.put("s", "n", "text/plain", content)
		var (
			done   sync.WaitGroup
			second artifact.Ref
		)
		done.Go(func() {
			if err := o.Remove(t.Context(), first.ID); err != nil {
				t.Error(err)
			}
		})
		done.Go(func() {
			var err error
			if second, err = o.Put(t.Context(), "s", "n", "text/plain", []byte(content)); err != nil {
				t.Error(err)
			}
		})
		done.Wait()
		o.ahead.Store(int64(2 * time.Hour))
		if _, err := o.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := o.read(second.ID); got != content {
			t.Fatalf("it is %q", got)
		}
		if err := o.Remove(t.Context(), second.ID); err != nil {
			t.Fatal(err)
		}
	}
	o.sweep(1)
	if n := o.objects(); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}
