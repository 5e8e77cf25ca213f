package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"harness/extensions"
	"harness/internal/lib/lifecycle"
	"harness/internal/platform/cluster"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/journal/archive"
	"harness/internal/services/audit"
	"harness/internal/services/session/retention"
	"harness/internal/services/tasks"
	"harness/internal/services/tools/ledger"
	"harness/queue"
)

// Intervals of pruning. The journal is pruned to its number of events; the rest is pruned by age in days.
const (
	pruneEvery  = time.Minute
	retainEvery = 10 * time.Minute
	// Signing limits undetected truncation: a removed part of the audit log is noticed only if it was signed.
	signEvery = time.Minute
	// Infrequent, because each run makes readers' copies of transcripts stale (a cursor in them may be lost).
	pruneOldEvery = time.Hour
	sweepEvery    = time.Hour
)

// maintenance removes expired rows, scrubs the database and signs the audit log.
type maintenance struct {
	*core
	damage  *damage
	loops   lifecycle.Loops
	archive *archive.Archiver // nil without one
}

// Start starts the loops.
func (s *maintenance) Start(ctx context.Context) error {
	if err := s.makeArchive(); err != nil {
		return err
	}
	return s.loops.Start(ctx, func(context.Context) error {
		s.every(pruneEvery, "prune the journal", s.pruneJournal)
		s.every(signEvery, "sign the audit log", s.signAudit)
		s.every(pruneOldEvery, "prune the journal's old events", s.pruneOldEvents)
		s.every(retainEvery, "prune what is over", s.pruneRecords)
		s.every(sweepEvery, "sweep the object store", s.sweepArtifacts)
		s.every(scrubEvery, "scrub the database", s.damage.scrub)
		return nil
	})
}

// every runs a function repeatedly until pruning stops.
func (s *maintenance) every(pause time.Duration, what string, do func(context.Context) error) {
	s.loops.Go(func(ctx context.Context) {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn().Err(err).Dur("again_in", pause).Msg("cannot " + what)
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// Stop stops the loops.
func (s *maintenance) Stop(ctx context.Context) error {
	_, err := s.loops.Stop(ctx, "pruning")
	return err
}

// pruned counts and logs the removed rows.
func (s *maintenance) pruned(table string, rows int64) {
	if rows == 0 {
		return
	}
	s.metrics.Pruned.WithLabelValues(table).Add(float64(rows))
	s.log.Info().Str("table", table).Int64("rows", rows).Msg("pruned expired rows")
}

// days converts an age in the settings.
func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

func (s *maintenance) pruneJournal(ctx context.Context) error {
	if err := s.archiveEvents(ctx); err != nil || s.cfg.Retention.JournalEvents == 0 {
		return err
	}
	rows, err := s.journal.Prune(ctx, int64(s.cfg.Retention.JournalEvents))
	s.pruned("journal_events", rows)
	return err
}

func (s *maintenance) pruneOldEvents(ctx context.Context) error {
	if s.cfg.Retention.JournalDays == 0 {
		return nil
	}
	rows, err := s.journal.PruneBefore(ctx, s.now().Add(-days(s.cfg.Retention.JournalDays)).UnixMilli())
	s.pruned("journal_events", rows)
	return err
}

func (s *maintenance) pruneRecords(ctx context.Context) error {
	keep, now := s.cfg.Retention, s.now()
	p := journal.Pruner{Journal: s.journal, Now: now, Pruned: s.pruned}
	records := journal.Retention{Age: days(keep.RecordDays), Max: keep.Records}
	return errors.Join(
		s.pruneArtifacts(ctx), s.pruneAudit(ctx), s.answers.Prune(ctx, s.pruned),
		retention.Prune(ctx, s.journal, s.db, now, retention.Policy{
			Records: days(keep.RecordDays), MaxRecords: keep.Records, Archived: days(keep.ArchivedDays),
			MaxArchived: keep.Archived, Turns: days(keep.TurnDays), MaxTurns: keep.Turns, InUse: queue.Remembered,
		}, s.pruned),
		queue.Prune(ctx, p, records), extensions.Prune(ctx, p, records), ledger.Prune(ctx, p, records),
		tasks.Prune(ctx, p, records),
		cluster.Prune(ctx, s.journal, now, days(keep.RecordDays), "extension_cursors", s.pruned),
	)
}

// pruneArtifacts removes artifacts of deleted sessions.
func (s *maintenance) pruneArtifacts(ctx context.Context) error {
	rows, err := s.artifacts.Prune(ctx)
	s.pruned("artifacts", rows)
	return err
}

// sweepArtifacts removes objects that no row refers to.
func (s *maintenance) sweepArtifacts(ctx context.Context) error {
	objects, err := s.artifacts.Sweep(ctx)
	s.pruned("artifact_objects", objects)
	return err
}

// AuditKeyFile is the name of the file with the key that signs the audit log.
const AuditKeyFile = "audit.key"

func (s *maintenance) signAudit(ctx context.Context) error {
	key, err := audit.ReadKey(filepath.Join(s.dir.Path, AuditKeyFile))
	if err != nil {
		return err
	}
	_, err = audit.Checkpoint(ctx, s.journal, key, s.now().UnixMilli())
	return err
}

func (s *maintenance) pruneAudit(ctx context.Context) error {
	if s.cfg.Retention.RecordDays == 0 {
		return nil
	}
	key, err := audit.ReadKey(filepath.Join(s.dir.Path, AuditKeyFile))
	if err != nil {
		return err
	}
	now := s.now()
	rows, err := audit.Prune(ctx, s.journal, key, now.Add(-days(s.cfg.Retention.RecordDays)).UnixMilli(), now.UnixMilli())
	s.pruned("audit_log", rows)
	return err
}

// OpenArchive opens the configured archive of events.
func OpenArchive(cfg *config.Config) (archive.Files, error) {
	if cfg.Archive == config.ArchiveS3 {
		return OpenObjects(cfg.S3)
	}
	return archive.Folder{Dir: cfg.Archive}, nil
}

// makeArchive makes the archiver of events, if an archive is configured.
func (s *maintenance) makeArchive() error {
	if s.cfg.Archive == "" {
		return nil
	}
	files, err := OpenArchive(s.cfg)
	if err != nil {
		return err
	}
	s.archive = archive.New(archive.Options{Journal: s.journal, DB: s.db, Files: files, Now: s.now,
		Logger: s.log.With().Str("package", "archive").Logger(),
		Turn: func(ctx context.Context) (bool, error) {
			if s.db.Engine() == database.SQLite {
				return true, nil
			}
			return cluster.First(ctx, s.db, s.dir.NodeID)
		},
		Stored: func(events, _ int64) { s.metrics.Archived.Add(float64(events)) }})
	return nil
}

func (s *maintenance) archiveEvents(ctx context.Context) error {
	if s.archive == nil {
		return nil
	}
	if err := s.archive.Run(ctx); err != nil {
		if ctx.Err() == nil {
			s.metrics.ArchiveFailed.Inc()
		}
		return fmt.Errorf("archive events, of which none is pruned before: %w", err)
	}
	return nil
}
