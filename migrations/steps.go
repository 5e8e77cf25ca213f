package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"harness/internal/platform/database"
)

// steps returns the migrations of an engine, each as one text that the engine runs in one transaction. Goose does not
// read them: it would take 4 MiB to find the end of each statement.
func steps(engine database.Engine) ([]*goose.Migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]*goose.Migration, 0, len(names))
	for _, name := range names {
		version, err := versionOf(name)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		up, down, _ := strings.Cut(inDialect(string(text), engine), "-- +goose Down")
		all = append(all, goose.NewGoMigration(version, run(name, up), run(name, down)))
	}
	return all, nil
}

func run(name, text string) *goose.GoFunc {
	return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}}
}

// inDialect returns a migration without the lines between "-- only <another engine>" and the next such line or "-- all
// engines". On SQLite, only a column spelled "integer primary key" is the table's row id. Any other spelling creates a
// second b-tree, which costs time for every insert. Postgres needs the 64 bits of bigint.
func inDialect(text string, engine database.Engine) string {
	var kept strings.Builder
	own := true
	for line := range strings.Lines(text) {
		switch words := strings.TrimSpace(line); {
		case words == "-- all engines":
			own = true
		case strings.HasPrefix(words, "-- only "):
			own = words == "-- only "+string(engine)
		case own:
			kept.WriteString(line)
		}
	}
	if engine == database.SQLite {
		return strings.ReplaceAll(kept.String(), "bigint primary key", "integer primary key")
	}
	return kept.String()
}
