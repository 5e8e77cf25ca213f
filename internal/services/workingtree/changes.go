package workingtree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"harness/internal/lib/shadow"
)

// Base selects the state that a folder is compared with.
type Base struct {
	// Turn selects the changes of one turn; "" compares the folder with its state before the session's first turn.
	Turn string
	// Branch compares the folder with the last commit of its branch.
	Branch bool
}

// Changes is what differs in the folder of a session.
type Changes struct {
	// Base and Tree are the two compared trees; "" if the session had no turn yet.
	Base, Tree string
	// At is when the folder was read.
	At    time.Time
	Files []File
	// Skipped are paths that are not compared: larger than 32 MiB, special, or repositories of their own.
	Skipped []string
}

// File is one path that differs.
type File struct {
	shadow.Change
	// TurnID is the last turn that changed the path, "" if it changed between turns or the turn is unknown.
	TurnID string
	// AlsoIn are other sessions whose turns changed the path.
	AlsoIn []string
}

// ErrUnknownTurn means that the states of a turn are not stored.
var ErrUnknownTurn = errors.New("the state of the folder before this turn is not stored")

const (
	// slowCapture is the duration from which captures are rare: idleFactor bounds the share of time that they take. The
	// next one waits this many durations of the last one, unless a turn has ended since. Answers say when it was.
	slowCapture = time.Second
	idleFactor  = 10
)

// Changes compares the folder of a session. *UnavailableError, ErrUnknownTurn.
func (s *Service) Changes(ctx context.Context, sessionID, path string, base Base) (Changes, error) {
	asked := s.opts.Clock()
	one, err := s.watch(ctx, path)
	if err != nil {
		return Changes{}, err
	}
	defer one.mu.Unlock()
	result, err := s.between(ctx, one, sessionID, base, asked)
	if err != nil || result.Base == "" {
		return result, err
	}
	changed, err := one.shadow.Compare(ctx, result.Base, result.Tree)
	if err != nil {
		return result, unavailable(err)
	}
	owners := map[string]string{}
	if base.Turn == "" {
		if owners, err = one.owners(ctx, sessionID, changed, result.Tree); err != nil {
			return result, err
		}
	}
	alsoIn, err := one.alsoIn(ctx, sessionID, result.Tree)
	if err != nil {
		return result, unavailable(err)
	}
	result.Files = make([]File, 0, len(changed))
	for _, change := range changed {
		file := File{Change: change, TurnID: owners[change.Path], AlsoIn: alsoIn[change.Path]}
		if base.Turn != "" {
			file.TurnID = base.Turn
		}
		result.Files = append(result.Files, file)
	}
	return result, nil
}

// Diff returns the patch of one path that differs, as ShownPath shows it, or of all for "". lines is the number of
// unchanged lines around a change.
func (s *Service) Diff(ctx context.Context, sessionID, path string, base Base, file string, lines int) (patch []byte, err error) {
	asked := s.opts.Clock()
	one, err := s.watch(ctx, path)
	if err != nil {
		return nil, err
	}
	defer one.mu.Unlock()
	trees, err := s.between(ctx, one, sessionID, base, asked)
	if err != nil || trees.Base == "" {
		return nil, err
	}
	var paths []string
	if file != "" {
		changed, err := one.shadow.Compare(ctx, trees.Base, trees.Tree)
		if err != nil {
			return nil, unavailable(err)
		}
		for _, change := range changed {
			if ShownPath(change.Path) == file {
				paths = append(paths, change.Path)
			}
			if ShownPath(change.Path) == file && change.From != "" {
				paths = append(paths, change.From)
			}
		}
		if len(paths) == 0 {
			return nil, nil
		}
	}
	patch, err = one.shadow.Patch(ctx, trees.Base, trees.Tree, lines, paths...)
	if err != nil {
		err = unavailable(err)
	}
	return patch, err
}

// ShownPath returns a path as text. Bytes that are not UTF-8 are shown as \xNN.
func ShownPath(path string) string {
	var out strings.Builder
	for len(path) > 0 {
		r, size := utf8.DecodeRuneInString(path)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, path[0])
		} else {
			out.WriteString(path[:size])
		}
		path = path[size:]
	}
	return out.String()
}

// between returns the two trees to compare. Requests that waited for one capture share it. The folder is locked.
func (s *Service) between(ctx context.Context, one *folder, sessionID string, base Base, asked time.Time) (Changes, error) {
	begun := one.captured.Add(-one.state.Took)
	rare := one.state.Took > slowCapture && asked.Sub(one.captured) < idleFactor*one.state.Took && s.ended.Load() < begun.UnixNano()
	if begun.Before(asked) && !rare {
		if err := s.capture(ctx, one); err != nil {
			return Changes{}, err
		}
	}
	result := Changes{Tree: one.state.Tree, At: one.captured, Skipped: one.state.Skipped}
	switch {
	case base.Branch:
		var err error
		if result.Base, err = one.shadow.Head(ctx); err == nil && result.Base == "" {
			err = &UnavailableError{"the folder is in no repository with a commit"}
		}
		return result, unavailable(err)
	case base.Turn == "":
		name := refName(sessionID) + baseName
		names, err := one.shadow.Names(ctx, name)
		result.Base = names[name]
		return result, err
	}
	turns, err := one.turnsOf(ctx, sessionID)
	if err != nil {
		return result, err
	}
	for i, turn := range turns {
		if turn.id != base.Turn {
			continue
		}
		if result.Base = turn.before; result.Base == "" && i > 0 {
			result.Base = turns[i-1].after
		}
		result.Tree = afterOf(turns, i, result.Tree)
		if result.Base == "" {
			break
		}
		return result, nil
	}
	return result, fmt.Errorf("%w: %s", ErrUnknownTurn, base.Turn)
}

// afterOf returns the state after a turn. If its end was not seen (it runs, or the server did not), this is the state
// before the next turn, or the present one.
func afterOf(turns []turn, i int, now string) string {
	if turns[i].after == "" && i+1 < len(turns) {
		return cmp.Or(turns[i+1].before, now)
	}
	return cmp.Or(turns[i].after, now)
}

// owners returns the turn that changed each path last. A path that changed again after that turn has none. The folder
// is locked.
func (f *folder) owners(ctx context.Context, sessionID string, changed []shadow.Change, now string) (map[string]string, error) {
	turns, err := f.turnsOf(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	open := map[string]string{} // the contents of paths without an owner yet
	for _, change := range changed {
		open[change.Path] = change.BlobTo
	}
	owners, rewound := map[string]string{}, map[string]bool{}
	for i := len(turns) - 1; i >= 0 && len(open) > 0; i-- {
		turn, then := turns[i], afterOf(turns, i, now)
		if turn.before == "" || turn.before == then {
			continue
		}
		blobs, err := f.turns.read(turn.before+then, func() ([]shadow.Change, error) {
			return f.shadow.Compare(ctx, turn.before, then)
		})
		if err != nil {
			return nil, err
		}
		for path, has := range open {
			had, changed := blobs[path]
			switch {
			case !changed:
			case strings.HasPrefix(turn.id, rewindPrefix) && had == has: // an earlier turn made this content
				rewound[path] = true
			case had == has:
				owners[path] = turn.id
				delete(open, path)
			case !rewound[path]:
				delete(open, path)
			}
		}
	}
	return owners, nil
}

// turnCache holds the changed paths of turns with their contents after the turn, by their two trees. The folder's lock
// guards it.
type turnCache struct{ turns map[string]map[string]string }

// maxCachedTurns bounds the cache; a full one starts anew.
const maxCachedTurns = 500

func (c *turnCache) read(key string, compare func() ([]shadow.Change, error)) (map[string]string, error) {
	if found := c.turns[key]; found != nil {
		return found, nil
	}
	changed, err := compare()
	if err != nil {
		return nil, err
	}
	blobs := make(map[string]string, len(changed))
	for _, change := range changed {
		blobs[change.Path] = change.BlobTo
		if change.From != "" {
			blobs[change.From] = strings.Repeat("0", len(change.BlobTo))
		}
	}
	if c.turns == nil || len(c.turns) >= maxCachedTurns {
		c.turns = map[string]map[string]string{}
	}
	c.turns[key] = blobs
	return blobs, nil
}
