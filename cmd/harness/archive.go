package main

import (
	"context"
	"fmt"

	"harness/internal/platform/cluster"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal/archive"
)

// openArchive is where events are archived as a configuration says.
func openArchive(cfg *config.Config) (archive.Files, error) {
	if cfg.Archive == config.ArchiveS3 {
		return openObjects(cfg.S3)
	}
	return archive.Folder{Dir: cfg.Archive}, nil
}

// makeArchive makes what archives events, where there is to be an archive.
func (s *Server) makeArchive() error {
	if s.cfg.Archive == "" {
		return nil
	}
	files, err := openArchive(s.cfg)
	if err != nil {
		return err
	}
	s.archive = archive.New(archive.Options{Journal: s.journal, DB: s.db, Files: files, Now: s.now,
		Logger: s.log.With().Str("package", "archive").Logger(),
		Turn: func(ctx context.Context) (bool, error) {
			if s.db.Engine() == database.SQLite {
				return true, nil
			}
			return cluster.First(ctx, s.db, s.dir.nodeID)
		},
		Stored: func(events, _ int64) { s.metrics.archived.Add(float64(events)) }})
	return nil
}

func (s *Server) archiveEvents(ctx context.Context) error {
	if s.archive == nil {
		return nil
	}
	if err := s.archive.Run(ctx); err != nil {
		if ctx.Err() == nil {
			s.metrics.archiveFailed.Inc()
		}
		return fmt.Errorf("archive events, of which none is pruned before: %w", err)
	}
	return nil
}
