package acp

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"harness/internal/runtime"
)

// minuteLayout is the format of the start minute in a history's file name.
const minuteLayout = "2006-01-02T15-04"

// putAside protects a history that the agent is about to load (Profile.History). The agent would recreate the file
// empty, so putAside renames it to an earlier unused minute. It returns runtime.ErrTransient if that is impossible.
// One minute later the file is safe.
func (r *Runtime) putAside(native string) error {
	if r.profile.History == "" || len(native) < 8 {
		return nil
	}
	now := time.Now().UTC()
	name := func(at time.Time) string {
		return strings.NewReplacer("{minute}", at.Format(minuteLayout), "{id}", native[:8]).Replace(r.profile.History)
	}
	home, err := os.OpenRoot(r.lookup("HOME")) // an agent's links must not lead out of it
	if err != nil {
		return fmt.Errorf("look for the history of conversation %s: %w", native, err)
	}
	defer func() { _ = home.Close() }() // it was only read
	found, err := fs.Glob(home.FS(), name(now))
	if err != nil {
		return fmt.Errorf("look for the history of conversation %s: %w", native, err)
	}
	for _, file := range found {
		minute, earlier := now, file
		for free := false; !free; { // an earlier call may have put aside one of this minute
			minute = minute.Add(-time.Minute)
			earlier = path.Join(path.Dir(file), path.Base(name(minute)))
			_, err := home.Lstat(earlier)
			free = err != nil // the rename reports any other error
		}
		if err := home.Rename(file, earlier); err != nil {
			return fmt.Errorf(
				"%w: %s would forget a conversation that was begun in this very minute (%w); send the message again in a minute",
				runtime.ErrTransient, r.profile.title(), err)
		}
	}
	return nil
}
