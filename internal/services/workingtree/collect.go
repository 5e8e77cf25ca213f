package workingtree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// collectEvery is the time between two collections of a shadow. States of old turns, and those that were read between
// turns, leave contents behind that no name keeps.
const collectEvery = 7 * 24 * time.Hour

// collectedName is a file of the shadow. Its time is that of the last collection.
const collectedName = "collected"

// collectIfDue removes unneeded contents of a folder's shadow, in the background. A caller that needs the folder ends the
// collection, and the end of the next turn begins it anew: no turn waits for it.
func (s *Service) collectIfDue(path string) {
	marker := filepath.Join(s.shadowOf(path), collectedName)
	if last, err := os.Stat(marker); err == nil && s.opts.Clock().Sub(last.ModTime()) < collectEvery || !s.begin() {
		return
	}
	go func() {
		defer s.work.Done()
		if err := s.collect(s.running, path, marker); err != nil && s.running.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("folder", path).Msg("old states of a folder could not be removed; the next turn tries again")
		}
	}()
}

// errWanted ends a collection.
var errWanted = errors.New("the folder is in use")

func (s *Service) collect(ctx context.Context, path, marker string) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	one := s.folder(path)
	if !one.mu.TryLock() {
		return nil
	}
	defer one.mu.Unlock()
	one.collecting.Store(&end)
	defer one.collecting.Store(nil)
	if one.shadow == nil || one.wanted.Load() > 0 {
		return nil
	}
	err := one.shadow.Collect(ctx)
	if errors.Is(context.Cause(ctx), errWanted) {
		return nil
	}
	if err != nil {
		return err
	}
	now := s.opts.Clock()
	return errors.Join(os.WriteFile(marker, nil, 0o600), os.Chtimes(marker, now, now))
}
