package manager

import (
	"errors"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// A rename that expects a certain title replaces no other title. It does not matter when the other title was set, or
// whether a user or the runtime set it.
func TestRenameFrom(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		refused := func(err error, title string) {
			t.Helper()
			var other *session.TitleError
			if !errors.As(err, &other) || other.Title != title {
				t.Errorf("refused with %v, want that it is called %q", err, title)
			}
		}
		title := func(id string) string {
			t.Helper()
			k.flush()
			stored, err := k.Lookup(t.Context(), id)
			k.do(err)
			seen, _ := k.index.Get(id)
			k.eventually("the view shows the row", func() bool { seen, _ = k.index.Get(id); return seen.Title == stored.Title })
			return stored.Title
		}
		s := k.create()
		if renamed, err := k.RenameFrom(t.Context(), s.ID, "auto", session.NewChatTitle); err != nil || renamed.Title != "auto" {
			t.Fatalf("renamed to %q, %v", renamed.Title, err)
		}
		_, err := k.RenameFrom(t.Context(), s.ID, "again", session.NewChatTitle)
		refused(err, "auto")

		// A user's rename is in progress when the other one starts.
		s = k.create()
		naming, goOn := make(chan struct{}), make(chan struct{})
		k.fake.onName = func(_, name string) {
			if name == "mine" {
				close(naming)
				<-goOn
			}
		}
		mine, auto := make(chan error, 1), make(chan error, 1)
		go func() { _, err := k.Rename(t.Context(), s.ID, "mine"); mine <- err }()
		<-naming
		go func() { _, err := k.RenameFrom(t.Context(), s.ID, "auto", session.NewChatTitle); auto <- err }()
		k.eventually("the second rename waits or is over", func() bool { return len(auto) > 0 || k.locks.Users()[s.ID] == 2 })
		close(goOn)
		k.do(<-mine)
		refused(<-auto, "mine")
		if got := title(s.ID); got != "mine" {
			t.Errorf("it is called %q", got)
		}

		// The runtime sets another title at the same moment.
		s = k.create()
		k.fake.onName = func(id, _ string) {
			k.fake.notify(id, "", "thread/name/updated", runtime.ThreadNamed{Name: "theirs"})
		}
		_, err = k.RenameFrom(t.Context(), s.ID, "auto", session.NewChatTitle)
		refused(err, "theirs")
		if got := title(s.ID); got != "theirs" {
			t.Errorf("it is called %q", got)
		}
	})
}
