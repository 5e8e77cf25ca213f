package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"harness/internal/platform/database"
)

// objectsTable maps artifact contents to objects. Archives omit it: they contain the objects' contents, like those of
// files, and restore them into the store itself.
const objectsTable = "artifact_objects"

// Objects reads contents of artifacts from an object store; *objectstore.Store implements it.
type Objects interface {
	Open(ctx context.Context, name string) (io.ReadSeekCloser, error)
}

// errNoObjects means that contents are in an object store that is not configured.
var errNoObjects = errors.New("some contents of artifacts are in an object store: set HARNESS_S3_* as the server has them")

// eachObject reads the contents in an object store, one after another, until visit fails.
func eachObject(ctx context.Context, q database.Querier, schema int64, objects Objects,
	visit func(hash string, content []byte) error) error {
	if schema < objectsSince {
		return nil
	}
	type object struct{ hash, name string }
	all, err := database.ReadAll(ctx, q, "read which contents are objects", func(row database.Row) (one object, err error) {
		return one, row.Scan(&one.hash, &one.name)
	}, `select hash, name from `+objectsTable+` order by hash`)
	if err != nil || len(all) == 0 {
		return err
	}
	if objects == nil {
		return errNoObjects
	}
	for _, one := range all {
		content, err := readObject(ctx, objects, one.name)
		if err != nil {
			return fmt.Errorf("read the content %s: %w", one.hash, err)
		}
		if err := visit(one.hash, content); err != nil {
			return err
		}
	}
	return nil
}

// objectsSince is the first schema version with the table.
const objectsSince = 71

func readObject(ctx context.Context, objects Objects, name string) ([]byte, error) {
	object, err := objects.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(object) // bounded when it was stored
	return content, errors.Join(err, object.Close())
}

// objects writes the contents in an object store that are not in the archive yet.
func (w *writer) objects(ctx context.Context, q database.Querier) error {
	return eachObject(ctx, q, w.Schema, w.Objects, func(hash string, content []byte) error {
		name := path.Join(hash[:2], hash)
		if w.seen[name] {
			return nil
		}
		w.seen[name] = true
		return w.put(tar.Header{Name: path.Join(dataDir, artifactsDir, name), Mode: 0o600, Size: int64(len(content)),
			ModTime: time.Now()}, bytes.NewReader(content))
	})
}
