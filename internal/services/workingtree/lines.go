package workingtree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"harness/internal/lib/lineowner"
)

// Owners of lines are carried from one state of the folder to the next at the end of each turn. They are notes of the
// shadow, named by path and content: a rebase, a squash, another branch and a rewind bring them back.

const (
	// seenName, with a time in ms, names the state up to which owners were carried.
	seenName = "seen."
	// severalTurns owns lines that were written while several turns changed the folder.
	severalTurns = "?"
	// maxCarried is the number of changed files beyond which a step is not carried, such as those of a new dependency.
	maxCarried = 2000
)

// ownerName names a turn as an owner of lines.
func ownerName(sessionID, turnID string) string { return sessionID + " " + turnID }

// noteName names the owners of the lines of a content at a path.
func noteName(path, blob string) string {
	sum := sha256.Sum256([]byte(path + "\x00" + blob))
	return hex.EncodeToString(sum[:16])
}

// seen returns the state up to which owners were carried, and its time; "" for none. The folder is locked.
func (f *folder) seen(ctx context.Context) (tree string, at int64, err error) {
	names, err := f.shadow.Names(ctx, seenName+"*")
	for name, found := range names {
		if ms, err := strconv.ParseInt(strings.TrimPrefix(name, seenName), 10, 64); err == nil && ms >= at {
			tree, at = found, ms
		}
	}
	return tree, at, err
}

// see stores the state up to which owners were carried.
func (f *folder) see(ctx context.Context, tree string, at, had int64) error {
	err := f.shadow.Keep(ctx, seenName+strconv.FormatInt(at, 10), tree)
	if err == nil && had != at && had != 0 {
		err = f.shadow.Drop(ctx, seenName+strconv.FormatInt(had, 10))
	}
	return err
}

// begin returns when a turn began, in ms.
func (t turn) begin() int64 {
	at, _, _ := strings.Cut(t.name, ".")
	ms, _ := strconv.ParseInt(at, 10, 64) // turnsIn checked it
	return ms
}

// carryTurn carries the owners over a turn that has ended, with the state before and after it. The folder is locked.
func (f *folder) carryTurn(ctx context.Context, sessionID string, ended turn, at time.Time) error {
	seen, had, err := f.seen(ctx)
	if err != nil {
		return err
	}
	alone := len(f.active) == 0 && ended.before != "" && ended.begin() >= had
	if alone {
		if seen != "" {
			err = f.carry(ctx, seen, ended.before, "")
		}
		seen = ended.before
	}
	owner := ownerName(sessionID, ended.id)
	if !alone {
		owner = severalTurns
	}
	if seen != "" && err == nil {
		err = f.carry(ctx, seen, ended.after, owner)
	}
	// A step that could not be carried has no owners; the next one must not get its lines.
	if kept := f.see(ctx, ended.after, at.UnixMilli(), had); err == nil {
		err = kept
	}
	return err
}

// carry stores the owners of the contents of a state that are new since an earlier one.
func (f *folder) carry(ctx context.Context, from, to, owner string) error {
	found, err := f.step(ctx, from, to, owner)
	if err != nil {
		return err
	}
	notes := map[string][]byte{}
	for name, lines := range found {
		var text strings.Builder
		for _, r := range lines {
			fmt.Fprintf(&text, "%d-%d %s\n", r.From, r.To, r.Owner)
		}
		notes[name] = []byte(text.String())
	}
	return f.shadow.AddNotes(ctx, notes)
}

// step returns the owners of the contents of a state that have none yet, by the names of their notes.
func (f *folder) step(ctx context.Context, from, to, owner string) (map[string]lineowner.Lines, error) {
	if from == to {
		return nil, nil
	}
	changed, err := f.shadow.Compare(ctx, from, to)
	if err != nil {
		return nil, err
	}
	if len(changed) > maxCarried {
		return nil, fmt.Errorf("%d files changed at once, more than %d: the owners of their lines are unknown", len(changed), maxCarried)
	}
	patch, err := f.shadow.LinePatch(ctx, from, to, lineowner.PatchFlags())
	if err != nil {
		return nil, err
	}
	hunks, err := lineowner.Patch(patch)
	if err != nil {
		return nil, err
	}
	before, after := make([]string, len(changed)), make([]string, len(changed))
	for i, change := range changed {
		before[i], after[i] = noteName(change.Path, change.BlobFrom), noteName(change.Path, change.BlobTo)
		if change.From != "" {
			before[i] = noteName(change.From, change.BlobFrom)
		}
	}
	known, err := f.readOwners(ctx, append(append([]string{}, before...), after...))
	if err != nil {
		return nil, err
	}
	files := make([]lineowner.File, len(changed))
	for i, change := range changed {
		files[i] = lineowner.File{Before: known[before[i]], Hunks: hunks[change.Path]}
	}
	fresh := map[string]lineowner.Lines{}
	for _, name := range before { // a person's contents come back as such
		if _, is := known[name]; !is {
			fresh[name] = nil
		}
	}
	for i, lines := range lineowner.Carry(files, owner) {
		if _, is := known[after[i]]; !is {
			fresh[after[i]] = lines
		}
	}
	return fresh, nil
}

// readOwners reads the owners of lines by the names of their notes.
func (f *folder) readOwners(ctx context.Context, names []string) (map[string]lineowner.Lines, error) {
	notes, err := f.shadow.Notes(ctx, names)
	if err != nil {
		return nil, err
	}
	found := map[string]lineowner.Lines{}
	for name, text := range notes {
		var lines lineowner.Lines
		for row := range strings.Lines(string(text)) {
			var r lineowner.Range
			about, owner, _ := strings.Cut(strings.TrimSuffix(row, "\n"), " ")
			if _, err := fmt.Sscanf(about, "%d-%d", &r.From, &r.To); err != nil {
				return nil, fmt.Errorf("the owners of lines %s are damaged: %w", name, err)
			}
			r.Owner = owner
			lines = append(lines, r)
		}
		found[name] = lines
	}
	return found, nil
}
