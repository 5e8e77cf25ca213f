package workingtree

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"harness/internal/lib/shadow"
)

// Rewind is a change of a folder to an earlier state: the paths that turns changed are as they were before them.
type Rewind struct {
	// Now is the state of the folder, Then the one that it gets.
	Now, Then string
	// Files are the paths that change.
	Files []shadow.Change
	// Changed are paths among them that changed since, and not in a turn of the session, as ShownPath shows them.
	Changed []string
}

// ConflictError says which files prevent a rewind. No file was changed then.
type ConflictError struct{ Paths []string }

// Error implements error.
func (e *ConflictError) Error() string {
	return "files were changed by someone else since: " + strings.Join(e.Paths, ", ")
}

// rewindPrefix begins the ids of turns that are rewinds.
const rewindPrefix = "rewind:"

// Step is a rewind that is carried out.
type Step struct{ ID, SessionID, Folder, Now, Then string }

// name returns the name of the states of a rewind that is not done.
func (p Step) name() string {
	return refName(p.SessionID) + "/rewinds/" + hex.EncodeToString([]byte(p.ID))
}

// KeepStates keeps the states of a rewind until Restore is done.
func (s *Service) KeepStates(ctx context.Context, step Step) error {
	one, err := s.watch(ctx, step.Folder)
	if err != nil {
		return err
	}
	defer one.mu.Unlock()
	return errors.Join(one.shadow.Keep(ctx, step.name()+"/0", step.Now), one.shadow.Keep(ctx, step.name()+"/1", step.Then))
}

// PlanRewind returns what changes if the turns of a session from one on had not been. *UnavailableError,
// ErrUnknownTurn.
func (s *Service) PlanRewind(ctx context.Context, sessionID, path, turnID string) (plan Rewind, err error) {
	before, finished := s.inOrder(sessionID)
	defer finished()
	<-before
	one, err := s.watch(ctx, path)
	if err != nil {
		return plan, err
	}
	defer one.mu.Unlock()
	if err := s.capture(ctx, one); err != nil {
		return plan, err
	}
	turns, err := one.turnsOf(ctx, sessionID)
	if err != nil {
		return plan, err
	}
	from := slices.IndexFunc(turns, func(one turn) bool { return one.id == turnID })
	if from < 0 || turns[from].before == "" {
		return plan, fmt.Errorf("%w: %s", ErrUnknownTurn, turnID)
	}
	var own, others []string
	for i := from; i < len(turns); i++ {
		own = append(own, turns[i].before, afterOf(turns, i, one.state.Tree))
		next := one.state.Tree
		if i+1 < len(turns) {
			next = turns[i+1].before
		}
		others = append(others, own[len(own)-1], next)
	}
	return rewindOf(ctx, one, turns[from].before, own, others)
}

// PlanUndo returns what changes if a rewind had not been; now and then are its states. *UnavailableError.
func (s *Service) PlanUndo(ctx context.Context, path, now, then string) (plan Rewind, err error) {
	one, err := s.watch(ctx, path)
	if err != nil {
		return plan, err
	}
	defer one.mu.Unlock()
	if err := s.capture(ctx, one); err != nil {
		return plan, err
	}
	return rewindOf(ctx, one, now, []string{now, then}, []string{then, one.state.Tree})
}

// rewindOf plans a rewind of all paths that differ in own, pairs of states, to a target. Paths that differ in others were
// changed by someone else. The folder is locked.
func rewindOf(ctx context.Context, one *folder, target string, own, others []string) (plan Rewind, err error) {
	plan.Now = one.state.Tree
	mine, err := one.differing(ctx, own)
	if err != nil {
		return plan, err
	}
	if plan.Then, err = one.shadow.Replaced(ctx, plan.Now, target, mine); err != nil {
		return plan, unavailable(err)
	}
	if plan.Files, err = one.shadow.Compare(ctx, plan.Now, plan.Then); err != nil {
		return plan, unavailable(err)
	}
	theirs, err := one.differing(ctx, others)
	if err != nil {
		return plan, err
	}
	restored, err := one.shadow.Differing(ctx, plan.Now, plan.Then)
	if err != nil {
		return plan, err
	}
	for _, path := range restored {
		if _, found := slices.BinarySearch(theirs, path); found {
			plan.Changed = append(plan.Changed, ShownPath(path))
		}
	}
	return plan, nil
}

// differing returns the paths that differ in pairs of states. The folder is locked.
func (f *folder) differing(ctx context.Context, states []string) ([]string, error) {
	var all []string
	for pair := range slices.Chunk(states, 2) {
		if pair[0] == pair[1] || pair[0] == "" {
			continue
		}
		paths, err := f.shadow.Differing(ctx, pair[0], pair[1])
		if err != nil {
			return nil, unavailable(err)
		}
		all = append(all, paths...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Restore changes the files of a folder from one state to another. It completes a killed Restore. *UnavailableError, and
// *ConflictError if files were changed since the states were planned.
func (s *Service) Restore(ctx context.Context, step Step) error {
	one, err := s.watch(ctx, step.Folder)
	if err != nil {
		return err
	}
	defer one.mu.Unlock()
	err = one.shadow.Restore(ctx, step.Now, step.Then)
	var changed *shadow.ChangedError
	if errors.As(err, &changed) {
		conflict := &ConflictError{Paths: []string{}}
		for _, path := range changed.Paths {
			conflict.Paths = append(conflict.Paths, ShownPath(path))
		}
		return errors.Join(conflict, err)
	}
	if err != nil {
		return unavailable(err)
	}
	if err := s.capture(ctx, one); err != nil {
		return err
	}
	return s.keepRewind(ctx, one, step)
}

// keepRewind keeps the states of a rewind as those of a turn, so that later answers do not take its changes for those of
// someone else. The folder is locked.
func (s *Service) keepRewind(ctx context.Context, one *folder, step Step) error {
	turns, err := one.turnsOf(ctx, step.SessionID)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(turns, func(turn turn) bool { return turn.id == rewindPrefix+step.ID && turn.after != "" }) {
		name := refName(step.SessionID) + turnsName + "/" + turnName(s.opts.Clock(), rewindPrefix+step.ID)
		if err := errors.Join(one.shadow.Keep(ctx, name+"/0", step.Now), one.shadow.Keep(ctx, name+"/1", step.Then)); err != nil {
			return err
		}
	}
	if err := one.shadow.Drop(ctx, step.name()); err != nil {
		return err
	}
	return s.publish(ctx, one, step.SessionID, rewindPrefix+step.ID)
}
