package manager

import (
	"context"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// shown returns the name and its source as a list shows them.
func (k *kit) shown(id string) (title string, source session.TitleSource) {
	k.t.Helper()
	k.flush()
	page, err := k.List(k.t.Context(), session.ListQuery{Figures: true})
	k.do(err)
	for _, one := range page.Sessions {
		if one.ID == id {
			return one.Shown()
		}
	}
	k.t.Fatalf("session %s is not listed", id)
	return "", ""
}

func (k *kit) called(id, title string, source session.TitleSource) {
	k.t.Helper()
	if got, by := k.shown(id); got != title || by != source {
		k.t.Errorf("it is called %q by %s, want %q by %s", got, by, title, source)
	}
}

// A session is named after its first message. An agent's name replaces that, and a user's name stays. codex-manager's
// title is not affected by the message. (TI-02)
func TestASessionIsNamedAfterItsFirstMessage(t *testing.T) {
	eachPlain(t, func(t *testing.T, k *kit) {
		say := func(id, text string) {
			t.Helper()
			turn, err := turnOf(k.Send(t.Context(), id, session.Message{Text: text}))
			k.do(err)
			k.end(id, turn)
		}
		named := func(id, name string) {
			k.fake.notify(id, "", "thread/name/updated", runtime.ThreadNamed{Name: name})
		}
		s := k.create()
		k.called(s.ID, session.Unnamed, session.TitleAuto)
		say(s.ID, "Fix the **login**. Now")
		say(s.ID, "Something else")
		k.called(s.ID, "Fix the login", session.TitleAuto)
		if stored, err := k.Lookup(t.Context(), s.ID); err != nil || stored.Title != session.NewChatTitle {
			t.Errorf("its title is %q, %v", stored.Title, err)
		}
		if frames := k.events("console.session_titled"); len(frames) != 1 ||
			string(frames[0].Payload) != `{"sessionId":"`+s.ID+`","title":"Fix the login","titleSource":"auto"}` {
			t.Errorf("published %v", frames)
		}
		named(s.ID, "Login repair")
		k.called(s.ID, "Login repair", session.TitleAgent)
		agent := context.WithValue(t.Context(), actorKey{}, "agent:"+s.ID)
		_, err := k.Rename(agent, s.ID, "By the agent")
		k.do(err)
		k.called(s.ID, "By the agent", session.TitleAgent)
		_, err = k.Rename(t.Context(), s.ID, "Mine")
		k.do(err)
		before := len(k.records())
		named(s.ID, "Not mine")
		k.called(s.ID, "Mine", session.TitleUser)
		if after := k.records(); len(after) != before {
			t.Errorf("clients got %v", after[before:])
		}
		k.index.Forget(s.ID) // the row has it, too
		named(s.ID, "Not mine either")
		k.called(s.ID, "Mine", session.TitleUser)

		// A session from before names has its first message, and the next message does not name it.
		old := k.create()
		say(old.ID, "Old work. Really")
		k.reportUser(old.ID, "t0", "m0", "Old work. Really")
		k.flush()
		k.do(k.opts.DB.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `update sessions set name = '' where id = $1`, old.ID)
			return err
		}))
		k.called(old.ID, "Old work", session.TitleAuto)
		say(old.ID, "New work")
		k.called(old.ID, "Old work", session.TitleAuto)
	})
}
