package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"harness/internal/content/search"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/codex"
	"harness/internal/services/codexmanager"
	"harness/migrations"
	"harness/server/datadir"
	"harness/stream"
)

func newImport() *cobra.Command {
	return newGroup("import", "Import from another control plane", newImportCodexManager())
}

func newImportCodexManager() *cobra.Command {
	var asJSON, dryRun bool
	var codexHome string
	cmd := &cobra.Command{
		Use:   "codex-manager DIR",
		Short: "Import projects, sessions, transcripts, controls, settings and jobs from codex-manager",
		Long: "Import from the data directory DIR of a codex-manager (its DATA_DIR, .data unless set): projects, sessions with\n" +
			"controls and settings, transcripts and jobs. DIR is only read. Stop the codex-manager, and this server, first. What\n" +
			"already exists is kept, so the command can be repeated.\n\nThe conversations themselves are codex's: start " +
			"this server with the CODEX_HOME that the codex-manager had, and it takes their histories in.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			if codexHome == "" {
				codexHome = cfg.CodexHome
			}
			from, err := codexmanager.Read(args[0], codexHome)
			if err != nil {
				return err
			}
			report, err := importFrom(cmd.Context(), cfg, from, dryRun)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			return printImport(cmd.OutOrStdout(), report)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&dryRun, "dry-run", false, "print what would be done, and store nothing")
	addJSON(cmd, &asJSON, "print the report as JSON")
	config.AddFlags(flags)
	if flags.Lookup("codex-home") == nil {
		flags.StringVar(&codexHome, "codex-home", "", "the CODEX_HOME of the codex-manager (default: this server's)")
	}
	return cmd
}

// importFrom imports into the configured store while no server of this data directory runs.
func importFrom(ctx context.Context, cfg *config.Config, from *codexmanager.Directory, dryRun bool) (
	report codexmanager.Report, err error) {
	if dryRun {
		if _, err := os.Stat(filepath.Join(cfg.DataDir, "harness.db")); cfg.DatabaseURL == "" &&
			errors.Is(err, os.ErrNotExist) {
			// Use a temporary store: the import checks the files in the same way.
			scratch, err := os.MkdirTemp("", "harness-import-")
			if err != nil {
				return report, err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
			cfg.DataDir = scratch
		}
	} else if err := datadir.NewConsents(cfg.Trust).Claim(cfg); err != nil {
		return report, err
	}
	dir, err := datadir.Open(cfg.DataDir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	db, err := openForImport(ctx, cfg, dryRun)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if dryRun {
		return importNothing(ctx, db, from, dir.NodeID)
	}
	events := journal.New(db, journal.Options{Logger: zerolog.Nop(), Upcast: stream.Upcast})
	if err := events.Start(ctx); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, events.Stop(context.WithoutCancel(ctx))) }()
	return from.Import(ctx, dir.NodeID, codex.Name, func(ctx context.Context, unit func(context.Context, database.Tx) error) error {
		_, err := events.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if err := unit(ctx, tx); err != nil {
				return nil, err
			}
			return nil, search.Renew(ctx, tx) // imported sessions have no events
		})
		return err
	})
}

// openForImport opens the store with this release's schema. A dry run does not migrate a store in use.
func openForImport(ctx context.Context, cfg *config.Config, dryRun bool) (*database.DB, error) {
	if dryRun && cfg.DatabaseURL != "" {
		db, err := database.Open(ctx, database.Options{URL: cfg.DatabaseURL})
		if err != nil {
			return nil, err
		}
		version, err := migrations.Inspect(ctx, db)
		if err == nil && version.From != version.To {
			err = fmt.Errorf("the database has schema version %d, a dry run needs %d: run harness migrate first", version.From,
				version.To)
		}
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return db, nil
	}
	db, _, err := datadir.OpenStore(ctx, cfg, nil)
	return db, err
}

// errDryRun rolls back a dry run.
var errDryRun = errors.New("nothing is stored")

// importNothing imports in one transaction and rolls it back.
func importNothing(ctx context.Context, db *database.DB, from *codexmanager.Directory, nodeID string) (
	report codexmanager.Report, err error) {
	var failed error
	err = db.Update(ctx, func(tx database.Tx) error {
		report, failed = from.Import(ctx, nodeID, codex.Name,
			func(ctx context.Context, unit func(context.Context, database.Tx) error) error {
				return unit(ctx, tx)
			})
		return errDryRun
	})
	report.DryRun = true
	if errors.Is(err, errDryRun) {
		err = failed
	}
	return report, err
}

func printImport(out io.Writer, report codexmanager.Report) error {
	what := "imported"
	if report.DryRun {
		what = "would be imported (nothing was stored)"
	}
	_, err := fmt.Fprintf(out,
		"%s: %d projects, %d sessions, %d transcript entries, %d jobs\nhere before: %d projects, %d sessions, %d jobs\n",
		what, report.Projects.New, report.Sessions.New, report.Entries, report.Jobs.New,
		report.Projects.Had, report.Sessions.Had, report.Jobs.Had)
	for _, left := range report.Left {
		if err == nil {
			_, err = fmt.Fprintln(out, "left:", left)
		}
	}
	return err
}
