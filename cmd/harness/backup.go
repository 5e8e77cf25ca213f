package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"harness/internal/content/backup"
	"harness/internal/lib/version"
	"harness/internal/platform/cluster"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/migrations"
	"harness/server"
	"harness/server/datadir"
)

// codexHomeName is the name of codex's home in a backup.
const codexHomeName = "codex"

func newBackup() *cobra.Command {
	var asJSON, withoutHomes bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up everything to one file; works while the server runs",
		Long: "Back up everything to one file (tar, zstd), even while the server runs: a consistent copy of the store, the\n" +
			"data directory with artifacts and keys, and codex's home where CODEX_HOME names it. It has everything that was acknowledged\n" +
			"before it began. It contains keys and logins, so only you can read the file.\n\nharness restore FILE restores it, on " +
			"SQLite or on Postgres, wherever it comes from.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			made, err := writeBackup(cmd.Context(), cfg, args[0], withoutHomes)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%w: name another file, or remove that one", err)
			}
			if err != nil {
				return err
			}
			return printBackup(cmd.OutOrStdout(), made, "kept in "+args[0], asJSON)
		},
	}
	addJSON(cmd, &asJSON, "print the manifest as JSON")
	cmd.Flags().BoolVar(&withoutHomes, "without-homes", false, "leave codex's home (its logins and conversations) out")
	config.AddFlags(cmd.Flags())
	return cmd
}

// writeBackup writes an archive of a configuration's data.
func writeBackup(ctx context.Context, cfg *config.Config, file string, withoutHomes bool) (made backup.Manifest,
	err error) {
	if err := datadir.NewConsents(cfg.Trust).CheckClaim(cfg); err != nil {
		return backup.Manifest{}, err
	}
	db, release, err := openToRead(ctx, cfg)
	if err != nil {
		return backup.Manifest{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	source := backup.Source{DB: db, DataDir: cfg.DataDir, Homes: backedHomes(cfg), Program: version.Program()}
	without := func(what, why string) { source.Without = append(source.Without, backup.Omission{What: what, Why: why}) }
	switch {
	case withoutHomes:
		without(cfg.CodexHome, "--without-homes")
		source.Homes = nil
	case cfg.CodexHome == "":
		without("the home of codex (~/.codex)", "CODEX_HOME does not name it, so it is not this server's own")
	}
	without("the homes of other agents (~/.claude, ~/.gemini, ...)", "they are their users' own")
	if dir := cfg.CredentialDir; dir != "" && !datadir.Within(cfg.DataDir, dir) {
		without(dir, "HARNESS_CREDENTIAL_DIR is outside of the data directory")
	}
	if cfg.S3.Endpoint != "" && cfg.DatabaseURL != "" {
		if source.Objects, err = server.OpenObjects(cfg.S3); err != nil {
			return backup.Manifest{}, err
		}
	}
	if cfg.Archive != "" {
		without("the archive of events", "HARNESS_ARCHIVE is kept where it is")
	}
	without("settings and .env files", "they are configuration: keep them where you keep that")
	return backup.Write(ctx, file, source)
}

// backedHomes returns the homes of runtimes that belong to this server but are not in its data directory.
func backedHomes(cfg *config.Config) map[string]string {
	if cfg.CodexHome == "" || datadir.Within(cfg.DataDir, cfg.CodexHome) {
		return nil
	}
	return map[string]string{codexHomeName: cfg.CodexHome}
}

// openToRead opens the configured store, possibly beside a server that uses it. If no server uses it, none can start
// before release.
func openToRead(ctx context.Context, cfg *config.Config) (db *database.DB, release func() error, err error) {
	options := database.Options{URL: cfg.DatabaseURL, Path: filepath.Join(cfg.DataDir, "harness.db"),
		Marker: migrations.Marker, Synchronous: cfg.SQLiteSynchronous}
	if cfg.DatabaseURL == "" {
		if _, err := os.Stat(options.Path); err != nil {
			return nil, nil, fmt.Errorf("there is no store in %s: %w (set DATA_DIR, or DATABASE_URL)", cfg.DataDir, err)
		}
		if lock, err := datadir.Lock(cfg.DataDir); err == nil { // otherwise a server runs
			if db, err = database.Open(ctx, options); err != nil {
				return nil, nil, errors.Join(err, lock.Close())
			}
			return db, func() error { return errors.Join(db.Close(), lock.Close()) }, nil
		}
	}
	db, err = database.OpenReadOnly(ctx, options)
	if err != nil && !errors.Is(err, database.ErrReadOnly) {
		return nil, nil, err
	}
	return db, db.Close, nil
}

func newRestore() *cobra.Command {
	var r restore
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into the configured, stopped server",
		Long: "Restore a backup into the configured DATA_DIR, DATABASE_URL and CODEX_HOME. The whole file is read and\n" +
			"compared with its hashes before anything is written. Data directory and database must be empty; turns that ran\n" +
			"when the backup was made come back as interrupted.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	addJSON(cmd, &r.asJSON, "print the manifest as JSON")
	flags.BoolVar(&r.replace, "replace", false,
		"move what is in DATA_DIR and CODEX_HOME into a folder .replaced-TIME there first")
	flags.BoolVar(&r.withoutHomes, "without-homes", false, "leave codex's home in the backup")
	flags.BoolVar(&r.verify, "verify", false, "only say whether the file is whole, and what is in it")
	config.AddFlags(flags)
	return cmd
}

// restore holds the flags of the restore command.
type restore struct{ asJSON, replace, withoutHomes, verify bool }

func (r *restore) run(cmd *cobra.Command, file string) (err error) {
	if r.verify {
		made, err := backup.Verify(file)
		if err != nil {
			return err
		}
		return printBackup(cmd.OutOrStdout(), made, file+" is whole", r.asJSON)
	}
	cfg, err := datadir.LoadConfig(cmd.Flags())
	if err != nil {
		return err
	}
	if _, err := os.Stat(cfg.DataDir); errors.Is(err, fs.ErrNotExist) {
		// An unreadable archive must leave no data directory behind.
		if _, err := backup.Verify(file); err != nil {
			return err
		}
	}
	if err := datadir.NewConsents(cfg.Trust).Claim(cfg); err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w (set DATA_DIR to a folder this user may write)", err)
	}
	lock, err := datadir.Lock(cfg.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	target := backup.Target{URL: cfg.DatabaseURL, DataDir: cfg.DataDir}
	if !r.withoutHomes {
		target.Homes = backedHomes(cfg)
	}
	if r.replace {
		if err := setAside(cmd.ErrOrStderr(), file, target); err != nil {
			return err
		}
	}
	made, err := backup.Restore(cmd.Context(), file, target)
	if errors.Is(err, backup.ErrNotEmpty) {
		return fmt.Errorf(
			"%w: nothing was restored; name an empty one, or for files add --replace, which moves what is there aside", err)
	}
	if err != nil {
		return err
	}
	return printBackup(cmd.OutOrStdout(), made, "restored into "+cfg.DataDir, r.asJSON)
}

// setAside moves existing data aside for a complete backup.
func setAside(notes io.Writer, file string, target backup.Target) error {
	if _, err := backup.Verify(file); err != nil {
		return err
	}
	folders := []string{target.DataDir}
	for _, home := range target.Homes {
		folders = append(folders, home)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		aside, err := backup.SetAside(folder)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(notes, "what was in %s is in %s\n", folder, aside)
	}
	return nil
}

func printBackup(out io.Writer, made backup.Manifest, headline string, asJSON bool) error {
	if asJSON {
		return printJSON(out, made)
	}
	var rows, bytes int64
	var files int
	for _, table := range made.Tables {
		rows += table.Rows
	}
	for _, file := range made.Files {
		bytes += file.Size
		if !strings.HasPrefix(file.Path, "database/") {
			files++
		}
	}
	_, err := fmt.Fprintf(out,
		"%s: %d rows of %d tables (%s, schema version %d) and %d files, %d MiB before compression, begun %s\n", headline,
		rows, len(made.Tables), made.Engine, made.Schema, files, bytes>>20, made.CreatedAt)
	for _, left := range made.Omitted {
		if err == nil {
			_, err = fmt.Fprintf(out, "not in it: %s (%s)\n", left.What, left.Why)
		}
	}
	return err
}

func newMigrateStore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate-store postgres|sqlite",
		Short: "Move all data between SQLite (DATA_DIR) and Postgres (DATABASE_URL)",
		Long: "Move all data from SQLite in DATA_DIR to the empty Postgres of DATABASE_URL, or back into a DATA_DIR without a\n" +
			"store. Stop all servers of both first. The source is kept; a SQLite file gets another name, so that no server\n" +
			"starts on it by mistake.",
		Args: cobra.ExactArgs(1), ValidArgs: []string{"postgres", "sqlite"},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			if args[0] != "postgres" && args[0] != "sqlite" {
				return config.Usagef("there is no engine %q: it is postgres or sqlite", args[0])
			}
			if cfg.DatabaseURL == "" {
				return config.Usagef("set DATABASE_URL to the Postgres to move to, or from")
			}
			if err := datadir.NewConsents(cfg.Trust).CheckClaim(cfg); err != nil {
				return err
			}
			dir, err := datadir.Open(cfg.DataDir)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, dir.Close()) }()
			moved, renamed, err := moveStore(cmd.Context(), cfg, args[0] == "postgres")
			if errors.Is(err, backup.ErrNotEmpty) {
				return fmt.Errorf("%w: nothing was moved; name an empty database", err)
			}
			if err != nil {
				return err
			}
			var rows int64
			for _, table := range moved.Tables {
				rows += table.Rows
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d rows of %d tables and %d contents of artifacts are in %s now%s\n", rows,
				len(moved.Tables), moved.Contents, args[0], renamed)
			return err
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

// moveBack moves the data to SQLite, including the content of an object store.
func moveBack(ctx context.Context, cfg *config.Config, postgres, lite *database.DB) (backup.Moved, error) {
	if cfg.S3.Endpoint == "" {
		return backup.Move(ctx, postgres, lite, cfg.DataDir, nil)
	}
	objects, err := server.OpenObjects(cfg.S3)
	if err != nil {
		return backup.Moved{}, err
	}
	return backup.Move(ctx, postgres, lite, cfg.DataDir, objects)
}

// moveStore moves the data between SQLite in the data directory and Postgres; renamed describes what happened to
// the SQLite file.
func moveStore(ctx context.Context, cfg *config.Config, toPostgres bool) (moved backup.Moved, renamed string,
	err error) {
	file := filepath.Join(cfg.DataDir, "harness.db")
	_, missing := os.Stat(file)
	switch {
	case toPostgres && missing != nil:
		return moved, "", fmt.Errorf("there is no store in %s: %w", cfg.DataDir, missing)
	case !toPostgres && missing == nil:
		return moved, "", fmt.Errorf("there is a store in %s already: move harness.db away, or set another DATA_DIR",
			cfg.DataDir)
	}
	lite, err := database.Open(ctx,
		database.Options{Path: file, Marker: migrations.Marker, Synchronous: cfg.SQLiteSynchronous})
	if err != nil {
		return moved, "", err
	}
	postgres, err := database.Open(ctx, database.Options{URL: cfg.DatabaseURL})
	if err != nil {
		return moved, "", errors.Join(err, lite.Close())
	}
	if toPostgres {
		moved, err = backup.Move(ctx, lite, postgres, cfg.DataDir, nil)
	} else if err = noServers(ctx, postgres); err == nil {
		moved, err = moveBack(ctx, cfg, postgres, lite)
	}
	err = errors.Join(err, lite.Close(), postgres.Close())
	if err != nil && !toPostgres {
		return moved, "", errors.Join(err, os.Remove(file)) // it was created for this move
	}
	if err != nil || !toPostgres {
		return moved, "; start the server without DATABASE_URL", err
	}
	aside := file + ".moved-" + time.Now().UTC().Format("20060102T150405")
	return moved, "; the SQLite file is " + aside, os.Rename(file, aside)
}

// noServers refuses a Postgres that servers used within the last seconds.
func noServers(ctx context.Context, db *database.DB) error {
	nodes, err := cluster.List(ctx, db)
	if err != nil {
		return fmt.Errorf("find servers on Postgres: %w", err)
	}
	alive := 0
	for _, node := range nodes {
		if node.State == cluster.Up || node.State == cluster.Draining {
			alive++
		}
	}
	if alive > 0 {
		return fmt.Errorf("%d servers run on this Postgres (or were killed less than 10 s ago): stop them", alive)
	}
	return nil
}
