package objectstore_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/internal/lib/objectstore"
	"harness/tests/s3test"
)

func open(t *testing.T, options objectstore.Options) *objectstore.Store {
	t.Helper()
	store, err := objectstore.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Objects are stored once, read in parts, listed and removed.
func TestObjects(t *testing.T) {
	t.Parallel()
	options := s3test.Start(t).Options
	options.Prefix = "a prefix/"
	store := open(t, options)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(store.Check(t.Context()))
	long := bytes.Repeat([]byte("0123456789"), 2<<20)
	do(store.Put(t.Context(), "x/one", long))
	do(store.Put(t.Context(), "x/one", []byte("another one comes too late")))
	do(store.Put(t.Context(), "y/two", nil))
	content, err := store.Open(t.Context(), "x/one")
	do(err)
	_, err = content.Seek(int64(len(long)-5), io.SeekStart)
	do(err)
	end, err := io.ReadAll(content)
	do(errors.Join(err, content.Close()))
	if string(end) != "56789" {
		t.Errorf("the end is %q", end)
	}
	for _, missing := range []string{"x/none", "x"} {
		if _, err := store.Open(t.Context(), missing); !errors.Is(err, objectstore.ErrNotFound) {
			t.Errorf("%s: %v", missing, err)
		}
	}
	var names []string
	do(store.Each(t.Context(), "x/", func(name string, changed time.Time) error {
		if time.Since(changed).Abs() > time.Hour {
			t.Errorf("%s changed at %v", name, changed)
		}
		names = append(names, name)
		return nil
	}))
	if !slices.Equal(names, []string{"x/one"}) {
		t.Errorf("there are %v", names)
	}
	do(store.Remove(t.Context(), "x/one"))
	do(store.Remove(t.Context(), "x/one"))
	if _, err := store.Open(t.Context(), "x/one"); !errors.Is(err, objectstore.ErrNotFound) {
		t.Errorf("taken away: %v", err)
	}
}

// The error of an unusable store has the remedy and no secret.
func TestAStoreThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for remedy, change := range map[string]func(*objectstore.Options){
		"another one in HARNESS_S3_URL": func(o *objectstore.Options) { o.Bucket = "another" },
		"check HARNESS_S3_URL":          func(o *objectstore.Options) { o.SecretAccessKey = "canary" },
	} {
		options := s3test.Start(t).Options
		change(&options)
		err := open(t, options).Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), remedy) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v, want %s", err, remedy)
		}
	}
}
