// Package backup writes a server's whole state into one archive and restores it, and moves a store to another engine.
//
// It owns the archive: the rows of the store as they were at one moment, as lines of JSON for either engine, the
// files of the data directory and of runtimes' homes, and a manifest with the hash of each part. It must never know
// what the rows mean, but for the contents of artifacts, which one engine keeps as files and the other as rows.
package backup

import (
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

// Manifest says what is in an archive. It is the archive's last file, so one that was cut off has none.
type Manifest struct {
	// Format is the version of the archive's layout.
	Format int `json:"format"`
	// Program is the version of the harness that wrote it.
	Program string `json:"program"`
	// CreatedAt is when it was begun, in RFC 3339.
	CreatedAt string          `json:"createdAt"`
	Engine    database.Engine `json:"engine"`
	// Schema is the store's schema version.
	Schema int64   `json:"schema"`
	Tables []Table `json:"tables"`
	// Files are all files of the archive but the manifest, in their order.
	Files []File `json:"files"`
	// Omitted is what is not in the archive.
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

// format is the layout this package writes; it reads those up to it.
const format = 1

// The first part of the paths in an archive, and its manifest.
const (
	tablesDir    = "database"
	dataDir      = "data"
	homesDir     = "homes"
	manifestFile = "manifest.json"
)

// artifactsDir is the folder of the data directory with the contents of artifacts, on SQLite; partsTable is where they
// are on Postgres.
const (
	artifactsDir = "artifacts"
	partsTable   = "artifact_parts"
)

// nodesTable maps running processes to nodes. It is not kept.
const nodesTable = "nodes"

// ErrDamaged wraps the error of a damaged archive.
var ErrDamaged = errors.New("the archive is damaged")

func damaged(format string, values ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, values...))
}
