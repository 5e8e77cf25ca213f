package workingtree

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"harness/internal/lib/lineowner"
)

// Blame has the lines of a file with the turns that wrote them.
type Blame struct {
	// At is when the folder was read.
	At    time.Time
	Lines []BlamedLines
}

// BlamedLines are consecutive lines of one turn. The first is From, counted from 1.
type BlamedLines struct {
	From int
	Text []string
	// SessionID and TurnID are "" if no turn wrote the lines, as far as is known.
	SessionID, TurnID string
	// Certain is false for lines that could as well be of another turn or of a person, such as a single "}".
	Certain bool
}

// maxBlamed is the maximum size in bytes of a file that is blamed.
const maxBlamed = 1 << 20

// FileError says why the lines of a file have no owners.
type FileError struct{ Reason string }

// Error implements error.
func (e *FileError) Error() string { return e.Reason }

// Blame returns which turns wrote the lines of a file. *UnavailableError, *FileError.
func (s *Service) Blame(ctx context.Context, path, file string) (Blame, error) {
	one, err := s.watch(ctx, path)
	if err != nil {
		return Blame{}, err
	}
	defer one.mu.Unlock()
	if err := s.capture(ctx, one); err != nil {
		return Blame{}, err
	}
	blob, size, err := one.shadow.Entry(ctx, one.state.Tree, file)
	switch {
	case err != nil:
		return Blame{}, unavailable(err)
	case blob == "":
		return Blame{}, &FileError{fmt.Sprintf("the folder of the session has no file %q that is watched; ignored files are not", file)}
	case size > maxBlamed:
		return Blame{}, &FileError{fmt.Sprintf("%s has %d KiB; lines are read up to %d KiB", file, size>>10, maxBlamed>>10)}
	}
	content, err := one.shadow.Content(ctx, blob)
	if err != nil {
		return Blame{}, unavailable(err)
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return Blame{}, &FileError{file + " is not a text"}
	}
	lines, err := one.linesOf(ctx, noteName(file, blob))
	if err != nil {
		return Blame{}, err
	}
	return Blame{At: one.captured, Lines: grouped(content, lines)}, nil
}

// linesOf returns the owners of a content of the present state. The folder is locked.
func (f *folder) linesOf(ctx context.Context, note string) (lineowner.Lines, error) {
	known, err := f.readOwners(ctx, []string{note})
	if err != nil {
		return nil, err
	}
	if lines, is := known[note]; is {
		return lines, nil
	}
	seen, had, err := f.seen(ctx)
	if err != nil || seen == "" {
		return nil, err
	}
	owner := ""
	switch sessions := slices.Collect(maps.Keys(f.active)); len(sessions) {
	case 0:
	case 1:
		running := f.active[sessions[0]]
		owner = ownerName(sessions[0], running.id)
		if running.begin() >= had {
			if err := f.carry(ctx, seen, running.before, ""); err != nil {
				return nil, err
			}
			seen = running.before
			if known, err = f.readOwners(ctx, []string{note}); err != nil {
				return nil, err
			}
		}
	default:
		owner = severalTurns
	}
	if lines, is := known[note]; is {
		return lines, nil
	}
	found, err := f.step(ctx, seen, f.state.Tree, owner)
	return found[note], err
}

// grouped joins consecutive lines of one owner.
func grouped(content []byte, lines lineowner.Lines) (all []BlamedLines) {
	if len(content) == 0 {
		return nil
	}
	text := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	last := ""
	for i, certain := range lineowner.Certain(text, lines) {
		owner := lines.Owner(i + 1)
		key := fmt.Sprint(owner, certain)
		if i == 0 || key != last {
			one := BlamedLines{From: i + 1, Certain: certain && owner != severalTurns}
			if owner != severalTurns {
				one.SessionID, one.TurnID, _ = strings.Cut(owner, " ")
			}
			all = append(all, one)
		}
		last = key
		all[len(all)-1].Text = append(all[len(all)-1].Text, text[i])
	}
	return all
}
