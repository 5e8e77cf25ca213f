package workingtree

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"harness/internal/lib/shadow"
)

// maxOtherTurns bounds the turns of other sessions that are compared: the newest ones.
const maxOtherTurns = 100

// alsoIn returns the other sessions whose turns changed a path of this folder, by path. The folder is locked.
func (f *folder) alsoIn(ctx context.Context, sessionID, now string) (map[string][]string, error) {
	names, err := f.shadow.Names(ctx, "")
	if err != nil {
		return nil, err
	}
	type other struct {
		turn
		session, after string
	}
	var others []other
	for _, session := range sessionsIn(names) {
		if session == sessionID {
			continue
		}
		turns, err := turnsIn(names, session)
		if err != nil {
			return nil, err
		}
		for i, one := range turns {
			if one.before != "" {
				others = append(others, other{one, session, afterOf(turns, i, now)})
			}
		}
	}
	slices.SortFunc(others, func(a, b other) int { return strings.Compare(b.name, a.name) })
	all := map[string][]string{}
	for _, one := range others[:min(len(others), maxOtherTurns)] {
		if one.before == one.after {
			continue
		}
		blobs, err := f.turns.read(one.before+one.after, func() ([]shadow.Change, error) {
			return f.shadow.Compare(ctx, one.before, one.after)
		})
		if err != nil {
			return nil, err
		}
		for path := range blobs {
			if !slices.Contains(all[path], one.session) {
				all[path] = append(all[path], one.session)
			}
		}
	}
	return all, nil
}

// sessionsIn returns the sessions that have names in a shadow.
func sessionsIn(names map[string]string) []string {
	var all []string
	for name := range names {
		coded, _, ok := strings.Cut(name, "/")
		id, err := hex.DecodeString(coded)
		if ok && err == nil && !slices.Contains(all, string(id)) {
			all = append(all, string(id))
		}
	}
	return all
}
