package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"harness/internal/platform/database"
	"harness/migrations"
)

// Moved counts what Move copied into another store.
type Moved struct {
	Tables   []Table
	Contents int // of artifacts, from files and objects
}

// Move copies all rows of a store into an empty one, of any engine, with the contents of artifacts. SQLite keeps these
// as files in its data directory dir; objects is an object store with contents, nil for none. The source stays
// unchanged and must have no writer. ErrNotEmpty, *migrations.NewerSchemaError.
func Move(ctx context.Context, from, to *database.DB, dir string, objects Objects) (moved Moved, err error) {
	version, err := migrations.Inspect(ctx, from)
	if err != nil {
		return Moved{}, err
	}
	if version.From == 0 {
		return Moved{}, errors.New("the store to be moved is empty")
	}
	if version.From > version.To {
		return Moved{}, &migrations.NewerSchemaError{Store: version.From, Binary: version.To}
	}
	err = fill(ctx, to, filepath.Join(dir, "migrate.lock"), version.From, dir, func(l *loader) error {
		return from.Snapshot(ctx, func(q database.Querier) error {
			moved.Tables, err = tablesOf(ctx, q, version.From)
			if err != nil {
				return err
			}
			for i := range moved.Tables {
				if err := moveTable(ctx, q, l, &moved.Tables[i]); err != nil {
					return err
				}
			}
			err := eachObject(ctx, q, version.From, objects, func(hash string, content []byte) error {
				moved.Contents++
				return l.content(hash, bytes.NewReader(content))
			})
			if err != nil {
				return err
			}
			if from.Engine() == to.Engine() || to.Engine() == database.SQLite {
				return nil
			}
			moved.Contents, err = moveContents(l, filepath.Join(dir, artifactsDir)) // SQLite has no objects
			return err
		})
	})
	if err != nil {
		return Moved{}, fmt.Errorf("move the store: %w", err)
	}
	return moved, nil
}

func moveTable(ctx context.Context, q database.Querier, l *loader, table *Table) error {
	stop := errors.New("no more rows are wanted")
	var broken error
	count, err := l.rows(*table, func(yield func([]any) bool) {
		broken = eachRow(ctx, q, *table, func(row []any) error {
			if !yield(row) {
				return stop
			}
			return nil
		})
	})
	table.Rows = count
	if errors.Is(broken, stop) {
		broken = nil // err has the reason
	}
	return errors.Join(err, broken)
}

func moveContents(l *loader, dir string) (count int, err error) {
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !isHash(entry.Name()) {
			return err
		}
		content, err := os.Open(file)
		if err != nil {
			return err
		}
		defer content.Close()
		count++
		return l.content(entry.Name(), content)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return count, err
}
