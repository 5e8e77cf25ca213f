package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/migrations"
)

func newMigrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to this binary's schema version and exit (serve does it, too)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			cfg, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			if err := newConsents(cfg.Trust).claimDataDir(cfg); err != nil {
				return err
			}
			db, result, err := openStore(cmd.Context(), cfg, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s schema version %d (was %d)\n", db.Engine(), result.To, result.From)
			return err
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

// openStore opens the configured database and migrates it; follow, which may be nil, adds to how it is opened.
func openStore(ctx context.Context, cfg *config.Config, follow func(opts *database.Options)) (*database.DB,
	migrations.Result, error) {
	opts := database.Options{
		URL: cfg.DatabaseURL, Path: filepath.Join(cfg.DataDir, "harness.db"), Marker: migrations.Marker,
		Synchronous: cfg.SQLiteSynchronous,
	}
	if follow != nil {
		follow(&opts)
	}
	db, err := database.Open(ctx, opts)
	if err != nil {
		return nil, migrations.Result{}, err
	}
	result, err := migrations.Up(ctx, db, filepath.Join(cfg.DataDir, "migrate.lock"))
	if err != nil {
		return nil, migrations.Result{}, errors.Join(err, db.Close())
	}
	return db, result, nil
}
