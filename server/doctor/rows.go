package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"harness/internal/lib/durable"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/database/wal"
	"harness/internal/services/scrub"
	"harness/server/datadir"
)

// namedRows is the maximum number of damaged rows that the doctor names.
const namedRows = 20

// rows checks every row of the database, if requested.
func (d *doctor) rows(ctx context.Context, db *database.DB) {
	if !d.scrubs {
		return
	}
	const name, remedy = "rows", "what they said is in a backup from before: harness restore; look at the disk and the memory of this machine"
	n := 0
	bytes, err := scrub.Run(ctx, scrub.Options{DB: db, Found: func(row scrub.Row) {
		if n++; n <= namedRows {
			d.broken(name, row.String(), remedy)
		}
	}})
	if err != nil {
		d.broken(name, fmt.Sprintf("they cannot all be read: %v", err), remedy)
		return
	}
	if n > namedRows {
		d.broken(name, fmt.Sprintf("%d further rows are damaged", n-namedRows), remedy)
	}
	if n == 0 {
		d.ok(name, "all are as they were written (%d MiB)", bytes>>20)
	}
	if db.Engine() == database.SQLite {
		d.structure(ctx, db)
	}
}

// structure makes SQLite check its pages, and its indexes against its tables.
func (d *doctor) structure(ctx context.Context, db *database.DB) {
	const name = "pages"
	problems, err := scrub.Structure(ctx, db, namedRows)
	switch {
	case err != nil:
		d.broken(name, err.Error(), "restore a backup")
	case len(problems) == 0:
		d.ok(name, "tables and indexes say the same")
	}
	for _, problem := range problems {
		d.broken(name, problem, "restore a backup")
	}
}

// Salvage moves a damaged log of SQLite aside, so that the server starts with the readable part. notice names the
// result and the copies.
func Salvage(cfg *config.Config) (notice string, err error) {
	lock, err := datadir.Lock(cfg.DataDir)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // nothing was written to it
	file := filepath.Join(cfg.DataDir, "harness.db")
	var damage *wal.DamageError
	switch err := wal.Check(file); {
	case err == nil:
		return "", fmt.Errorf("the log of %s is as it was written: there is nothing to salvage", file)
	case !errors.As(err, &damage):
		return "", err
	case damage.Bit:
		return "", fmt.Errorf("%w: nothing needs to be salvaged", damage)
	}
	aside := filepath.Join(cfg.DataDir, ".replaced-"+time.Now().UTC().Format("20060102T150405.000Z"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", err
	}
	for _, suffix := range []string{"", "-wal", "-synced"} {
		if err := copyDurably(file+suffix, filepath.Join(aside, "harness.db"+suffix)); err != nil {
			return "", err
		}
	}
	if err := errors.Join(durable.SyncFolder(aside), durable.SyncFolder(cfg.DataDir)); err != nil {
		return "", err
	}
	// Without the marker SQLite treats the damage as the end of the log, and drops the rest.
	if err := os.Remove(file + "-synced"); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s. The database and its log are copied to %s. "+
		"The next start of the server goes on with what stands before the damage.", damage, aside), nil
}

func copyDurably(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err == nil {
		err = target.Sync()
	}
	return errors.Join(err, target.Close())
}
