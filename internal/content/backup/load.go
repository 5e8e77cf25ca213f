package backup

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"harness/internal/content/artifact"
	"harness/internal/platform/database"
	"harness/migrations"
)

// loader stores rows and contents of artifacts where an engine keeps them.
type loader struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one call
	tx     database.Tx
	engine database.Engine
	// dir is the target data directory.
	dir string
	// schema lists the sorted columns of each table that may be filled, by table name.
	schema map[string][]string
}

// fill migrates an empty store to a schema version, loads it, and migrates it to this program's version. lockFile is
// as in migrations.Up.
func fill(ctx context.Context, db *database.DB, lockFile string, schema int64, dir string,
	load func(*loader) error) error {
	if err := requireEmpty(ctx, db); err != nil {
		return err
	}
	before, err := migrations.UpTo(ctx, db, lockFile, schema)
	if err != nil {
		return err
	}
	if before.From > schema {
		return fmt.Errorf("the store has schema version %d already, what is put in %d: begin with an empty database",
			before.From, schema)
	}
	tables, err := migrations.Tables(schema)
	if err != nil {
		return err
	}
	columns, err := schemaOf(ctx, db.Read(), schema)
	if err != nil {
		return err
	}
	err = db.Load(ctx, func(tx database.Tx) error {
		for _, table := range slices.Backward(tables) { // rows that migrations inserted
			if _, err := tx.ExecContext(ctx, `delete from `+table); err != nil {
				return fmt.Errorf("empty the table %s: %w", table, err)
			}
		}
		return load(&loader{ctx, tx, db.Engine(), dir, columns})
	})
	if err != nil {
		return err
	}
	_, err = migrations.Up(ctx, db, lockFile)
	return err
}

// ErrNotEmpty means that the target of an archive is not empty.
var ErrNotEmpty = errors.New("it is not empty")

// requireEmpty returns ErrNotEmpty for a store that was used.
func requireEmpty(ctx context.Context, db *database.DB) error {
	version, err := migrations.Inspect(ctx, db)
	if err != nil || version.From == 0 {
		return err
	}
	var events, projects int64
	if err := db.Read().QueryRowContext(ctx, `select pos, (select count(*) from projects) from `+migrations.Marker).
		Scan(&events, &projects); err != nil {
		return fmt.Errorf("check that the store is empty: %w", err)
	}
	if events > 0 || projects > 0 {
		return fmt.Errorf("the store has %d events and %d projects: %w", events, projects, ErrNotEmpty)
	}
	return nil
}

// schemaOf returns the sorted columns of each table that a backup keeps, by table name.
func schemaOf(ctx context.Context, q database.Querier, version int64) (map[string][]string, error) {
	tables, err := tablesOf(ctx, q, version)
	schema := make(map[string][]string, len(tables))
	for _, table := range tables {
		schema[table.Name] = slices.Sorted(slices.Values(table.Columns))
	}
	return schema, err
}

// check refuses a table that the schema lacks or has with other columns. The names come from an archive or from another
// store, and become part of statements.
func (l *loader) check(table Table) error {
	want, is := l.schema[table.Name]
	if !is {
		return damaged("the schema has no table %.60q", table.Name)
	}
	if !slices.Equal(slices.Sorted(slices.Values(table.Columns)), want) {
		return damaged("the table %s has the columns %.200q, the schema has %q", table.Name, table.Columns, want)
	}
	return nil
}

// rows inserts rows of a table and counts them. ErrDamaged for a table or a column that the schema lacks.
func (l *loader) rows(table Table, rows iter.Seq[[]any]) (count int64, err error) {
	if err := l.check(table); err != nil {
		return 0, err
	}
	if table.Name == partsTable && l.engine == database.SQLite {
		for row := range rows {
			if err := l.part(table, row); err != nil {
				return count, err
			}
			count++
		}
		return count, nil
	}
	counted := func(yield func([]any) bool) {
		for row := range rows {
			if count++; !yield(row) {
				return
			}
		}
	}
	if err := database.InsertEach(l.ctx, l.tx, table.Name, table.Columns, counted); err != nil {
		return count, fmt.Errorf("fill the table %s: %w", table.Name, err)
	}
	return count, nil
}

// part appends a part of a content to its file. Parts are in order, so the first one creates the file.
func (l *loader) part(table Table, row []any) (err error) {
	value := func(column string) any { return row[slices.Index(table.Columns, column)] }
	hash, named := value("hash").(string)
	part, isText := value("part").(string)
	if !named || !isText || !isHash(hash) {
		return damaged("a part of an artifact has no hash")
	}
	content, err := base64.StdEncoding.DecodeString(part)
	if err != nil {
		return damaged("a part of an artifact: %w", err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if value("number") == int64(0) {
		flags |= os.O_TRUNC
	}
	return l.write(hash, flags, content)
}

func (l *loader) write(hash string, flags int, content []byte) error {
	file := artifact.FileOf(filepath.Join(l.dir, artifactsDir), hash)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(file, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	return errors.Join(err, out.Sync(), out.Close())
}

// content stores an artifact's content, unless it exists.
func (l *loader) content(hash string, from io.Reader) error {
	content, err := io.ReadAll(from) // bounded when it was stored
	if err != nil {
		return err
	}
	if l.engine == database.SQLite {
		return l.write(hash, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, content)
	}
	var there int
	if err := l.tx.QueryRowContext(l.ctx, `select count(*) from `+partsTable+` where hash = $1`, hash).
		Scan(&there); err != nil {
		return fmt.Errorf("find the content %s: %w", hash, err)
	}
	if there > 0 {
		return nil
	}
	return artifact.InsertParts(l.ctx, l.tx, hash, content)
}

// isHash reports whether a name is a content's hash.
func isHash(name string) bool {
	if len(name) != 64 {
		return false
	}
	for _, digit := range name {
		if (digit < '0' || digit > '9') && (digit < 'a' || digit > 'f') {
			return false
		}
	}
	return true
}
