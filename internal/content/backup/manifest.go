// Package backup writes a server's complete state into one archive and restores it, and moves a store to another
// engine.
//
// It owns the archive: a snapshot of the store's rows as lines of JSON for either engine, and the files of the data
// directory and of runtimes' homes. A manifest has the hash of each part. It must never know what the rows mean, except
// the contents of artifacts, which one engine keeps as files and the other as rows.
package backup

import (
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

// Manifest describes what is in an archive. It is the archive's last file, so a truncated archive has none.
type Manifest struct {
	// Format is the version of the archive's layout.
	Format int `json:"format"`
	// Program is the version of the harness that wrote it.
	Program string `json:"program"`
	// CreatedAt is when the backup started, in RFC 3339.
	CreatedAt string          `json:"createdAt"`
	Engine    database.Engine `json:"engine"`
	// Schema is the store's schema version.
	Schema int64   `json:"schema"`
	Tables []Table `json:"tables"`
	// Files lists all files of the archive except the manifest, in order.
	Files []File `json:"files"`
	// Omitted lists what is not in the archive.
	Omitted []Omission `json:"omitted"`
}

// Table is a table of the store; its rows are JSON arrays in the order of the columns.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
}

// File is a file of an archive: database/TABLE/NUMBER.jsonl, data/PATH (of the data directory) or homes/NAME/PATH.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Omission is something that is not in an archive, and why.
type Omission struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// format is the layout that this package writes; it reads this and earlier ones.
const format = 1

// The first part of the paths in an archive, and its manifest.
const (
	tablesDir    = "database"
	dataDir      = "data"
	homesDir     = "homes"
	manifestFile = "manifest.json"
)

// artifactsDir is the folder of artifact contents in the data directory, on SQLite; partsTable is their table on
// Postgres.
const (
	artifactsDir = "artifacts"
	partsTable   = "artifact_parts"
)

// nodesTable maps running processes to nodes. Archives omit it.
const nodesTable = "nodes"

// ErrDamaged wraps the error of a damaged archive.
var ErrDamaged = errors.New("the archive is damaged")

func damaged(format string, values ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, values...))
}
