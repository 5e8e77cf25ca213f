package workingtree

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"harness/internal/lib/shadow"
)

// turnWait bounds how long a turn waits for the state of its folder. The turn then begins, and its first state may have
// some of its changes.
const turnWait = 2 * time.Second

// keptTurns is the number of turns of a session whose states are kept.
const keptTurns = 100

// The names of the states of a session in the shadow, after its name.
const (
	baseName  = "/base"  // before the first turn
	turnsName = "/turns" // "/turns/0000000000007.HEX/0" before and "/1" after the turn; HEX is its id
)

// refName returns the name of a session in a shadow.
func refName(sessionID string) string { return hex.EncodeToString([]byte(sessionID)) }

// Begin stores the state of a session's folder before a turn. The caller then calls named with the id of the turn, or
// with "" if no turn began. Neither fails: a turn without a checkpoint is better than none.
func (s *Service) Begin(ctx context.Context, sessionID, path string) (named func(turnID string)) {
	none := func(string) {}
	if s.refuse(path) != nil || !s.begin() {
		return none
	}
	at := s.opts.Clock()
	done := make(chan string, 1) // the tree, "" for none
	before, finished := s.inOrder(sessionID)
	go func() {
		defer s.work.Done()
		defer finished()
		<-before
		tree, err := s.captureBefore(s.running, sessionID, path)
		if err != nil && s.running.Err() == nil {
			s.log(err, sessionID, "the folder of a session could not be read before a turn")
		}
		done <- tree
	}()
	wait := time.NewTimer(turnWait)
	defer wait.Stop()
	tree, known := "", false
	select {
	case tree = <-done:
		known = true
	case <-wait.C:
	case <-ctx.Done():
	}
	return func(turnID string) {
		if turnID == "" || !s.begin() {
			return
		}
		before, finished := s.inOrder(sessionID)
		go func() {
			defer s.work.Done()
			defer finished()
			<-before
			if !known {
				tree = <-done
			}
			if tree == "" {
				return
			}
			begun := turn{name: turnName(at, turnID), id: turnID, before: tree}
			if err := s.keep(s.running, sessionID, path, begun); err != nil && s.running.Err() == nil {
				s.log(err, sessionID, "the state of a folder before a turn could not be stored")
			}
		}()
	}
}

func (s *Service) log(err error, sessionID, message string) {
	var refused *UnavailableError
	if errors.As(err, &refused) {
		s.opts.Logger.Debug().Str("session", sessionID).Str("reason", refused.Reason).Msg(message)
		return
	}
	s.opts.Logger.Warn().Err(err).Str("session", sessionID).Msg(message)
}

// captureBefore stores the present state, also as that before the session's first turn.
func (s *Service) captureBefore(ctx context.Context, sessionID, path string) (tree string, err error) {
	one, err := s.watch(ctx, path)
	if err != nil {
		return "", err
	}
	defer one.mu.Unlock()
	if err := s.capture(ctx, one); err != nil {
		return "", err
	}
	names, err := one.shadow.Names(ctx, refName(sessionID))
	if err != nil {
		return "", err
	}
	if names[refName(sessionID)+baseName] == "" {
		err = one.shadow.Keep(ctx, refName(sessionID)+baseName, one.state.Tree)
	}
	return one.state.Tree, err
}

// capture brings the state up to date. The folder is locked.
func (s *Service) capture(ctx context.Context, one *folder) error {
	state, err := one.shadow.Capture(ctx)
	if err != nil {
		return unavailable(err)
	}
	one.state, one.captured = state, s.opts.Clock()
	return nil
}

// keep stores the state before a turn.
func (s *Service) keep(ctx context.Context, sessionID, path string, begun turn) error {
	one, err := s.watch(ctx, path)
	if err != nil {
		return err
	}
	defer one.mu.Unlock()
	if err := one.shadow.Keep(ctx, refName(sessionID)+turnsName+"/"+begun.name+"/0", begun.before); err != nil {
		return err
	}
	seen, _, err := one.seen(ctx)
	if err == nil && seen == "" { // the first turn of the folder
		err = one.see(ctx, begun.before, begun.begin(), 0)
	}
	if err != nil {
		return err
	}
	turns, err := one.turnsOf(ctx, sessionID)
	for _, known := range turns {
		if known.id == begun.id && known.after == "" { // else it has ended already
			one.active[sessionID] = begun
		}
	}
	return err
}

// turnName names a turn that begins, or ends, at a time. Names have the order of the turns.
func turnName(at time.Time, turnID string) string {
	return fmt.Sprintf("%013d.%s", at.UnixMilli(), hex.EncodeToString([]byte(turnID)))
}

// Ended stores the state of a session's folder after a turn, in the background.
func (s *Service) Ended(sessionID, turnID string) {
	if !s.begin() {
		return
	}
	s.ended.Store(s.opts.Clock().UnixNano())
	before, finished := s.inOrder(sessionID)
	go func() {
		defer s.work.Done()
		defer finished()
		<-before
		path, err := s.opts.FolderOf(s.running, sessionID)
		if err == nil && path != "" {
			err = s.captureAfter(s.running, sessionID, path, turnID)
			s.collectIfDue(path)
		}
		if err != nil && s.running.Err() == nil {
			s.log(err, sessionID, "the folder of a session could not be read after a turn")
		}
	}()
}

func (s *Service) captureAfter(ctx context.Context, sessionID, path, turnID string) error {
	one, err := s.watch(ctx, path)
	if err != nil {
		return err
	}
	defer one.mu.Unlock()
	if err := s.capture(ctx, one); err != nil {
		return err
	}
	turns, err := one.turnsOf(ctx, sessionID)
	if err != nil {
		return err
	}
	ended := turn{name: turnName(s.opts.Clock(), turnID), id: turnID}
	for _, turn := range turns {
		if turn.id == turnID {
			ended = turn
		}
	}
	ended.after = one.state.Tree
	if err := one.shadow.Keep(ctx, refName(sessionID)+turnsName+"/"+ended.name+"/1", ended.after); err != nil {
		return err
	}
	delete(one.active, sessionID)
	if err := one.carryTurn(ctx, sessionID, ended, s.opts.Clock()); err != nil {
		s.log(err, sessionID, "the lines that a turn wrote are not known as its own")
	}
	for ; len(turns) >= keptTurns; turns = turns[1:] {
		if err := one.shadow.Drop(ctx, refName(sessionID)+turnsName+"/"+turns[0].name); err != nil {
			return err
		}
	}
	return s.publish(ctx, one, sessionID, turnID)
}

// turn is a turn with the states of its folder; "" for unknown ones.
type turn struct {
	name, id      string
	before, after string
}

// turnsOf returns the turns of a session in their order. The folder is locked.
func (f *folder) turnsOf(ctx context.Context, sessionID string) ([]turn, error) {
	names, err := f.shadow.Names(ctx, refName(sessionID)+turnsName)
	if err != nil {
		return nil, err
	}
	return turnsIn(names, sessionID)
}

// turnsIn returns the turns of a session among names, in their order.
func turnsIn(names map[string]string, sessionID string) ([]turn, error) {
	prefix := refName(sessionID) + turnsName
	turns := map[string]*turn{}
	for name, tree := range names {
		if !strings.HasPrefix(name, prefix+"/") {
			continue
		}
		dir, end, ok := strings.Cut(strings.TrimPrefix(name, prefix+"/"), "/")
		at, coded, dotted := strings.Cut(dir, ".")
		id, err := hex.DecodeString(coded)
		if _, notTime := strconv.ParseInt(at, 10, 64); !ok || !dotted || err != nil || notTime != nil {
			return nil, fmt.Errorf("the shadow has a name that is no turn: %s", name)
		}
		if turns[dir] == nil {
			turns[dir] = &turn{name: dir, id: string(id)}
		}
		if end == "0" {
			turns[dir].before = tree
		} else {
			turns[dir].after = tree
		}
	}
	all := make([]turn, 0, len(turns))
	for _, one := range turns {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b turn) int { return cmp.Compare(a.name, b.name) })
	return joined(all), nil
}

// joined joins the two states of a turn that ended before the first one was stored: they have different names.
func joined(turns []turn) []turn {
	for i := len(turns) - 1; i >= 0; i-- {
		begun := slices.IndexFunc(turns[:i], func(one turn) bool { return one.id == turns[i].id && one.after == "" })
		if begun >= 0 && turns[i].before == "" {
			turns[begun].after = turns[i].after
			turns = slices.Delete(turns, i, i+1)
		}
	}
	return turns
}

// Forget removes the states of a deleted session and the contents that only they have, in the background.
func (s *Service) Forget(sessionID, path string) {
	if _, err := os.Stat(s.shadowOf(path)); err != nil || !s.begin() {
		return // nothing was stored
	}
	go func() {
		defer s.work.Done()
		one, err := s.watch(s.running, path)
		if err == nil {
			defer one.mu.Unlock()
			err = s.forget(s.running, one, sessionID)
		}
		if err != nil && s.running.Err() == nil {
			s.log(err, sessionID, "the states of a deleted session's folder could not be removed")
		}
	}()
}

// forget removes the states of a session. The last session of a folder takes the shadow with it. The folder is locked.
func (s *Service) forget(ctx context.Context, one *folder, sessionID string) error {
	delete(one.active, sessionID)
	if err := one.shadow.Drop(ctx, refName(sessionID)); err != nil {
		return err
	}
	left, err := one.shadow.Names(ctx, "")
	if err != nil {
		return err
	}
	for name := range left {
		if strings.Contains(name, "/") { // of another session
			return one.shadow.Collect(ctx)
		}
	}
	one.shadow, one.state, one.captured, one.turns, one.published = nil, shadow.State{}, time.Time{}, turnCache{}, nil
	return os.RemoveAll(s.shadowOf(one.path))
}
