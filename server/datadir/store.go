package datadir

import (
	"context"
	"errors"
	"path/filepath"

	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/migrations"
)

// OpenStore opens the configured database and migrates it. follow, which may be nil, changes the open options.
func OpenStore(ctx context.Context, cfg *config.Config, follow func(opts *database.Options)) (*database.DB,
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
