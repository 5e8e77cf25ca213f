package manager

import (
	"errors"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// A user's read marker only moves forward and belongs to that user. Lists and windows show later entries as unread.
func TestReadMarkers(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		older := k.create()
		turn := k.send(older.ID)
		say := func(session, turn, id string) {
			t.Helper()
			k.fake.item(session, turn, runtime.Item{ID: id, Type: "agentMessage", Role: "assistant", Content: id}, true)
			k.flush()
		}
		say(older.ID, turn, "one")
		say(older.ID, turn, "two")
		unread := func(reader string) (ids []string) {
			t.Helper()
			page, err := k.List(t.Context(), session.ListQuery{Figures: true, Reader: reader})
			k.do(err)
			for _, one := range page.Sessions {
				if one.Figures.Unread {
					ids = append(ids, one.ID)
				}
			}
			return ids
		}
		expect := func(what, reader string, want ...string) {
			t.Helper()
			slices.Sort(want)
			if got := unread(reader); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				t.Errorf("%s: unread for %s are %v, want %v", what, reader, got, want)
			}
		}
		mark := func(reader, session, message string, further bool) {
			t.Helper()
			got, err := k.MarkRead(t.Context(), reader, session, message)
			k.do(err)
			if got != further {
				t.Errorf("%s up to %s: further is %v", reader, message, got)
			}
		}
		expect("before anybody has read", "ann")
		version := k.version(older.ID, "ann")
		mark("ann", older.ID, "one", true)
		if again := k.version(older.ID, "ann"); again == version {
			t.Error("a reader who has an older marker got the version of one who has none")
		}
		expect("behind it is more", "ann", older.ID)
		expect("another user", "bob")
		mark("ann", older.ID, "two", true)
		mark("ann", older.ID, "one", false)
		expect("all is read", "ann")
		younger := k.create()
		expect("nothing is said in it", "ann")
		turn = k.send(younger.ID)
		say(younger.ID, turn, "three")
		k.do(k.db.Update(t.Context(), func(tx database.Tx) error { // the runtime's time replaces ours: it counts in seconds
			return store.UpdateSession(t.Context(), tx, younger.ID, `created_at = created_at / 1000 * 1000`)
		}))
		expect("never opened", "ann", younger.ID)
		expect("never opened by one who reads nothing", "bob")
		mark("ann", younger.ID, "three", true)
		k.do(k.MarkUnread(t.Context(), "ann", younger.ID))
		expect("marked as unread", "ann", younger.ID)
		mark("ann", younger.ID, "three", true)
		expect("read again", "ann")
		detail, err := k.Read(t.Context(), younger.ID, session.Reading{Figures: true, Reader: "ann"})
		k.do(err)
		if f := detail.Session.Figures; f.ReadTo != "three" || f.Unread {
			t.Errorf("read to %q, unread is %v", f.ReadTo, f.Unread)
		}
		if _, err := k.MarkRead(t.Context(), "ann", younger.ID, "one"); !errors.Is(err, session.ErrNoEntry) {
			t.Errorf("an entry of another session: %v", err)
		}
		if _, err := k.MarkRead(t.Context(), "ann", "none", "one"); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("a session that is not there: %v", err)
		}
		_, err = k.Delete(t.Context(), younger.ID)
		k.do(err)
		if left := k.number(`select count(*) from read_markers where session_id <> ''`); left != 1 {
			t.Errorf("%d markers after a session was deleted", left)
		}
	})
}

// version returns the version of a reader's copy of a session.
func (k *kit) version(sess, reader string) string {
	k.t.Helper()
	detail, err := k.Read(k.t.Context(), sess, session.Reading{Figures: true, Reader: reader})
	k.do(err)
	return detail.Version
}
