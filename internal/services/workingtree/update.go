package workingtree

import (
	"context"
	"time"
)

// Update says that what a session changed in its folder is something else now.
type Update struct {
	SessionID string `json:"sessionId"`
	// TurnID is the turn that ran, or has just ended.
	TurnID string `json:"turnId"`
	Files  int    `json:"files"`
	// Added and Removed count lines.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Tree is the state of the folder.
	Tree string `json:"tree"`
}

// updateEvery is the shortest time between two captures for updates.
const updateEvery = 500 * time.Millisecond

// Wrote reports that a running turn may have changed files. The folder is read soon, in the background.
func (s *Service) Wrote(sessionID, turnID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.opts.Publish == nil || s.updating[sessionID] {
		return
	}
	s.updating[sessionID] = true
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		err := s.update(s.running, sessionID, turnID)
		if err != nil && s.running.Err() == nil {
			s.log(err, sessionID, "the folder of a session could not be read in a turn")
		}
	}()
}

// update reads the folder of a session once it may, and publishes what has changed.
func (s *Service) update(ctx context.Context, sessionID, turnID string) error {
	path, err := s.opts.FolderOf(ctx, sessionID)
	if err == nil && path != "" {
		err = s.untilDue(ctx, path)
	}
	s.mu.Lock()
	delete(s.updating, sessionID) // what is written from here on needs another capture
	s.mu.Unlock()
	if err != nil || path == "" {
		return err
	}
	one, err := s.watch(ctx, path)
	if err != nil {
		return err
	}
	defer one.mu.Unlock()
	if err := s.capture(ctx, one); err != nil {
		return err
	}
	return s.publish(ctx, one, sessionID, turnID)
}

// untilDue waits until a folder may be read again: captures during turns take at most a tenth of the time.
func (s *Service) untilDue(ctx context.Context, path string) error {
	one, err := s.watch(ctx, path)
	if err != nil {
		return err
	}
	due := one.captured.Add(max(updateEvery, idleFactor*one.state.Took))
	one.mu.Unlock()
	select {
	case <-time.After(due.Sub(s.opts.Clock())):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// publish publishes the present changes of a session unless it did. The folder is locked.
func (s *Service) publish(ctx context.Context, one *folder, sessionID, turnID string) error {
	if s.opts.Publish == nil || one.published[sessionID] == one.state.Tree {
		return nil
	}
	name := refName(sessionID) + baseName
	names, err := one.shadow.Names(ctx, name)
	if err != nil || names[name] == "" {
		return err
	}
	changed, err := one.shadow.Compare(ctx, names[name], one.state.Tree)
	if err != nil {
		return unavailable(err)
	}
	update := Update{SessionID: sessionID, TurnID: turnID, Files: len(changed), Tree: one.state.Tree}
	for _, change := range changed {
		update.Added += change.Added
		update.Removed += change.Removed
	}
	if one.published == nil {
		one.published = map[string]string{}
	}
	if one.published[sessionID] == "" && update.Files == 0 { // nothing was changed yet
		return nil
	}
	one.published[sessionID] = one.state.Tree
	return s.opts.Publish(ctx, update)
}
