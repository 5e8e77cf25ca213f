package manager

import (
	"errors"
	"slices"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// In a deleted or archived session nothing runs any longer: its turn, its background work and its own process end. A
// message that waits in it does not start another turn.
func TestASessionThatIsPutAwayRunsNoMore(t *testing.T) {
	eachPair(t, func(t *testing.T, p pair) {
		for name, putAway := range map[string]func(id string) error{
			"archived": func(id string) error { _, err := p.Archive(t.Context(), id); return err },
			"deleted":  func(id string) error { _, err := p.Delete(t.Context(), id); return err },
		} {
			own, shared := p.session(name), p.create()
			for _, s := range []session.Session{own, shared} {
				p.send(s.ID)
				_, _, err := p.Wait(t.Context(), s.ID, session.Message{Text: "later"})
				p.do(err)
			}
			p.fake.works(shared.ID, name)
			p.background.Want(shared.ID)
			p.eventually("the background work shows", func() bool { return len(p.working(shared.ID)) == 1 })
			p.do(putAway(own.ID))
			p.do(putAway(shared.ID))
			p.other.mu.Lock()
			ended := slices.Contains(p.other.ended, own.ID)
			p.other.mu.Unlock()
			p.fake.mu.Lock()
			left, killed := len(p.fake.background[shared.ID]), len(p.fake.ended)
			p.fake.mu.Unlock()
			if !ended || left > 0 || killed > 0 {
				t.Errorf("%s: its own process ended: %t, the shared one %d times; %d commands run in the background", name, ended,
					killed, left)
			}
			for _, s := range []session.Session{own, shared} {
				if active := p.index.ActiveTurn(s.ID); active != "" {
					t.Errorf("%s: turn %s runs", name, active)
				}
				waiting, err := p.Queued(t.Context(), s.ID)
				if name == "archived" && (err != nil || len(waiting) != 1 || waiting[0].State != session.QueuedHeld || waiting[0].Error == "") {
					t.Errorf("%s: the messages that wait are %+v, %v", name, waiting, err)
				}
			}
		}
	})
}

// RestartsFor implements runtime.Restarter.
func (f *fake) RestartsFor(in runtime.StartTurn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.restarts && len(f.background[in.ThreadID]) > 0 && in.Model != ""
}

// A change that is impossible while background work runs is refused by name, and not stored.
func TestControlsBesideBackgroundWork(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.fake.restarts = true
		s := k.create()
		k.fake.works(s.ID, "1")
		k.end(s.ID, k.send(s.ID))
		k.eventually("the background work shows", func() bool { return len(k.working(s.ID)) == 1 })
		model := "another"
		edit := session.ControlEdit{Edit: func(c session.Controls) session.Controls { c.Model = &model; return c }}
		_, edited := k.EditControls(t.Context(), s.ID, edit)
		_, sent := k.Send(t.Context(), s.ID, session.Message{Text: "hi", Model: &model})
		for what, err := range map[string]error{"an edit": edited, "a message": sent} {
			var working *session.BackgroundError
			if !errors.As(err, &working) || len(working.Tasks) != 1 || working.Tasks[0].Command != "sleep 1" ||
				working.Wish != "the model cannot change" {
				t.Errorf("%s: %v", what, err)
			}
		}
		if controls, _, err := k.Controls(t.Context(), s.ID); err != nil || controls.Model != nil {
			t.Errorf("stored is the model %v, %v", controls.Model, err)
		}
		k.end(s.ID, k.send(s.ID)) // as before
		if _, err := k.EndAllBackground(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := k.EditControls(t.Context(), s.ID, edit); err != nil {
			t.Errorf("after the end of the background work: %v", err)
		}
	})
}
