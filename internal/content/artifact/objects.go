package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Objects stores bytes outside of the database; *objectstore.Store implements it.
type Objects interface {
	// Put stores a new object.
	Put(ctx context.Context, name string, content []byte) error
	// Open reads an object, and Remove deletes one, even a missing one.
	Open(ctx context.Context, name string) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, name string) error
	// Each visits the objects with a prefix.
	Each(ctx context.Context, begins string, visit func(name string, changed time.Time) error) error
}

// DefaultObjectBytes is the minimum size of contents stored as objects.
const DefaultObjectBytes = 1 << 20

const (
	// objectsBegin is the prefix of object names.
	objectsBegin = "artifacts/"
	// orphanAge is the minimum age of a deleted object without a row: a newer object's row may not be committed yet.
	orphanAge = time.Hour
	// putPatience bounds how long storing an object may take.
	putPatience = time.Minute
)

// objects stores long contents in an object store and short ones in the database. A row names the object of a content.
// An object is stored before its row, deleted after it, and never used for another row. So an object being deleted is
// never one that a new row refers to.
type objects struct {
	rows
	store Objects
	least int64
}

func objectName(hash string) string { return objectsBegin + hash[:2] + "/" + hash + "-" + rand.Text() }

// named returns the name of a content's object, "" for none.
func named(ctx context.Context, q database.Querier, hash string) (string, error) {
	names, err := database.ReadTexts(ctx, q, "find the bytes "+hash, `select name from artifact_objects where hash = $1`, hash)
	return strings.Join(names, ""), err
}

func (o *objects) put(ctx context.Context, hash string, content []byte) (journal.Unit, error) {
	if int64(len(content)) < o.least {
		return o.rows.put(ctx, hash, content)
	}
	ctx, cancel := context.WithTimeout(ctx, putPatience)
	defer cancel()
	known, err := named(ctx, o.db.Read(), hash)
	if err != nil {
		return nil, err
	}
	fresh := known
	if known == "" {
		fresh = objectName(hash)
		if err := o.store.Put(ctx, fresh, content); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		now, err := named(ctx, tx, hash)
		if err != nil || now != "" { // it exists, or another process was faster: the sweep removes the extra one
			return nil, err
		}
		if known != "" {
			return nil, errDropped
		}
		_, err = tx.ExecContext(ctx, `insert into artifact_objects (hash, name) values ($1, $2)`, hash, fresh)
		return nil, err
	}, nil
}

func (o *objects) open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error) {
	name, err := named(ctx, o.db.Read(), hash)
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return o.rows.open(ctx, hash, size)
	}
	return o.store.Open(ctx, name)
}

// drop releases the object; Sweep deletes it.
func (o *objects) drop(ctx context.Context, tx database.Tx, hash string) error {
	if _, err := tx.ExecContext(ctx, `delete from artifact_objects where hash = $1`, hash); err != nil {
		return fmt.Errorf("remove the bytes %s: %w", hash, err)
	}
	return o.rows.drop(ctx, tx, hash)
}

// Sweep deletes objects without an artifact, an hour after they were stored, and returns their number.
func (s *Store) Sweep(ctx context.Context) (removed int64, err error) {
	o, is := s.bytes.(*objects)
	if !is {
		return 0, nil
	}
	err = o.store.Each(ctx, objectsBegin, func(name string, changed time.Time) error {
		if s.opts.Now().Sub(changed) < orphanAge {
			return nil
		}
		used, err := database.ReadTexts(ctx, o.db.Read(), "find the row of an object", `select hash from artifact_objects where name = $1`,
			name)
		if err != nil || len(used) > 0 {
			return err
		}
		removed++
		return o.store.Remove(ctx, name)
	})
	if err != nil {
		return removed, errors.Join(errors.New("sweep the objects of artifacts"), err)
	}
	return removed, nil
}
