package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkBound is how long Open may search a file for damage; it checks a larger file in part.
const checkBound = 250 * time.Millisecond

// checkContent refuses a file with damaged content. It also refuses one that has tables but neither our application_id
// nor the marker, whose presence it reports.
func checkContent(ctx context.Context, db *sql.DB, path, marker string, id uint32) (marked bool, err error) {
	tables, err := readTables(ctx, db)
	if err == nil {
		err = quickCheck(ctx, db)
	}
	if err != nil {
		return false, damaged(path, err)
	}
	marked = slices.Contains(tables, marker)
	if id == 0 && marker != "" && len(tables) > 0 && !marked {
		return false, &FileError{path, fmt.Sprintf("belongs to another application: it has the tables %s, but none named %s",
			strings.Join(tables[:min(len(tables), 5)], ", "), marker)}
	}
	return marked, nil
}

// damaged distinguishes damage from errors that keep SQLite from reading an intact file.
func damaged(path string, err error) error {
	const corrupt, notADatabase = 11, 26
	var (
		found *damage
		lite  sqliteError
	)
	if errors.As(err, &found) || errors.As(err, &lite) && (lite.Code()&0xff == corrupt || lite.Code() == notADatabase) {
		return &FileError{path, "is damaged: " + err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// schemaChanged is SQLite's code for a statement whose tables another connection changed.
const schemaChanged = 17

// quickCheck searches for damage within checkBound.
func quickCheck(ctx context.Context, db *sql.DB) error {
	bounded, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	var (
		found string
		lite  sqliteError
	)
	err := db.QueryRowContext(bounded, `pragma quick_check(1)`).Scan(&found)
	switch {
	case bounded.Err() != nil:
		return ctx.Err()
	case errors.As(err, &lite) && lite.Code()&0xff == schemaChanged:
		return nil // another process changed it, after checking the file
	case err != nil:
		return err
	case found != "ok":
		return &damage{found}
	}
	return nil
}

// damage is an error for damage that SQLite reports.
type damage struct{ found string }

// Error implements error.
func (d *damage) Error() string { return d.found }

func readTables(ctx context.Context, db *sql.DB) ([]string, error) {
	return ReadTexts(ctx, db, "list the tables",
		`select name from sqlite_schema where type = 'table' and name not like 'sqlite\_%' escape '\' order by name`)
}
