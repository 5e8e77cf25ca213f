package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/controledit"
)

func ptr(text string) *string { return &text }

// settings returns an edit that replaces all settings.
func settings(pairs ...string) func(session.Controls) session.Controls {
	return func(c session.Controls) session.Controls {
		c.Settings = map[string]json.RawMessage{}
		for i := 0; i < len(pairs); i += 2 {
			c.Settings[pairs[i]] = json.RawMessage(pairs[i+1])
		}
		return c
	}
}

func (k *kit) edit(sessionID string, edit session.ControlEdit) session.ControlChange {
	k.t.Helper()
	change, err := k.EditControls(k.t.Context(), sessionID, edit)
	k.do(err)
	return change
}

func TestEditControls(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		before := len(k.records())
		change := k.edit(s.ID, session.ControlEdit{Audit: &session.ControlAudit{Actor: "me", Source: "cli"},
			Edit: func(c session.Controls) session.Controls {
				c.Model, c.ApprovalPolicy, c.Settings = ptr("gpt-x"), "never", map[string]json.RawMessage{
					"n": json.RawMessage(`{"b":[1,2],"a":"<&>"}`), "z": json.RawMessage(`null`)}
				return c
			}})
		if !change.Changed || change.Controls.Summary() != "gpt-x | never | restricted | read-only | settings:2" ||
			change.Defaults.Summary() != "default | untrusted | restricted | read-only | settings:0" {
			t.Errorf("changed to %+v", change)
		}
		entries := k.stored(s.ID)
		if len(entries) != 1 {
			t.Fatalf("%d entries", len(entries))
		}
		e := entries[0]
		id := strings.Split(e.MessageID, "-")
		if len(id) != 4 || id[0]+id[1] != "sessioncontrols" || id[2] != fmt.Sprint(*e.StartedAt) || len(id[3]) != 8 ||
			strings.Trim(id[3], "0123456789abcdef") != "" {
			t.Errorf("message id %s", e.MessageID)
		}
		if e.TurnID != "session-controls" || e.Role != "system" || e.Type != "session.controls.updated" ||
			e.Status != "complete" || *e.CompletedAt != *e.StartedAt ||
			e.Content != "Session controls updated (this chat) by me via cli: default | untrusted | restricted | read-only "+
				"| settings:0 -> gpt-x | never | restricted | read-only | settings:2" {
			t.Errorf("entry %+v", e)
		}
		details := `{"occurredAt":"` + isoTime(*e.StartedAt) + `","actor":"me","source":"cli","scope":"session",` +
			`"previous":{"model":null,"approvalPolicy":"untrusted","networkAccess":"restricted","filesystemSandbox":"read-only","settings":{}},` +
			`"next":{"model":"gpt-x","approvalPolicy":"never","networkAccess":"restricted","filesystemSandbox":"read-only",` +
			`"settings":{"n":{"b":[1,2],"a":"<&>"},"z":null}}}`
		if *e.Details != details {
			t.Errorf("details %s\nwant    %s", *e.Details, details)
		}

		t.Log("the order of members is not a change, and no change leaves nothing behind")
		same := k.edit(s.ID,
			session.ControlEdit{Audit: &session.ControlAudit{Actor: "me", Source: "cli"}, Edit: settings("z", "null", "n",
				`{"a":"<&>", "b":[1,2]}`)})
		if same.Changed || len(k.stored(s.ID)) != 1 {
			t.Errorf("%+v, %d entries", same, len(k.stored(s.ID)))
		}
		t.Log("no audit, no entry")
		k.edit(s.ID, session.ControlEdit{Edit: settings()})
		if len(k.stored(s.ID)) != 1 {
			t.Error("an entry without a request")
		}
		for _, record := range k.records()[before:] {
			if record.Type != session.EventControlsChanged { // an internal one, which no client gets
				t.Errorf("event %s of a change of controls", record.Type)
			}
		}
		if after := len(k.records()); after != before+2 {
			t.Errorf("%d events of two changes", after-before)
		}
		k = k.reopen()
		controls, _, err := k.Controls(t.Context(), s.ID)
		if err != nil || *controls.Model != "gpt-x" || controls.ApprovalPolicy != "never" || controls.Settings == nil ||
			len(controls.Settings) != 0 {
			t.Errorf("after a restart %+v, %v", controls, err)
		}
	})
}

func TestEditDefaults(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		change := k.edit(s.ID, session.ControlEdit{Defaults: true, Audit: &session.ControlAudit{Actor: "user", Source: "ui"},
			Edit: func(c session.Controls) session.Controls {
				c.FilesystemSandbox, c.Settings["d"] = "workspace-write", json.RawMessage("true")
				return c
			}})
		if !change.Changed || change.Controls.FilesystemSandbox != "read-only" ||
			change.Defaults.FilesystemSandbox != "workspace-write" {
			t.Errorf("changed %+v", change)
		}
		if entries := k.stored(s.ID); len(entries) != 1 ||
			!strings.HasPrefix(entries[0].Content, "Session controls updated (new chats default) by user via ui: ") ||
			!strings.Contains(*entries[0].Details, `"scope":"default"`) {
			t.Errorf("entries %+v", entries)
		}
		k = k.reopen()
		fresh := k.create()
		if fresh.Controls.FilesystemSandbox != "workspace-write" || string(fresh.Controls.Settings["d"]) != "true" {
			t.Errorf("a new session has %+v", fresh.Controls)
		}
		old, err := k.Lookup(t.Context(), s.ID)
		if err != nil || old.Controls.FilesystemSandbox != "read-only" {
			t.Errorf("the old session has %+v, %v", old.Controls, err)
		}
		k.close()
		k = openWith(t, k.db, k.opts.NodeID, func(o *Options) { o.DefaultsLocked = true })
		if _, err := k.EditControls(t.Context(), s.ID, session.ControlEdit{Defaults: true, Edit: settings("a", "1")}); !errors.Is(err,
			session.ErrDefaultsLocked) {
			t.Errorf("locked: %v", err)
		}
		if _, defaults, err := k.Controls(t.Context(), s.ID); err != nil || !defaults.Equal(testControls) {
			t.Errorf("locked defaults %+v, %v: the configured ones are the only ones", defaults, err)
		}
		if change := k.edit(s.ID, session.ControlEdit{Edit: settings("a", "1")}); !change.Changed {
			t.Error("the session's own are not locked")
		}
	})
}

// EditDefaults changes the controls of new sessions without a session, in one step, and the event log records it. An
// edit that changes nothing is not recorded. Locked defaults do not change.
func TestEditDefaultsWithoutASession(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		edit := func(c session.Controls) session.Controls {
			c.ApprovalPolicy = "never"
			return c
		}
		for n, wanted := range []bool{true, false} {
			next, changed, err := k.EditDefaults(t.Context(), edit)
			k.do(err)
			if changed != wanted || next.ApprovalPolicy != "never" || next.FilesystemSandbox != testControls.FilesystemSandbox {
				t.Errorf("edit %d: %+v, changed %v", n, next, changed)
			}
		}
		recorded := k.events(controledit.EventDefaultsChanged)
		if len(recorded) != 1 || !strings.Contains(string(recorded[0].Payload), `"previous":{"model":null,"approvalPolicy":"untrusted"`) {
			t.Errorf("recorded %+v", recorded)
		}
		k = k.reopen()
		if fresh := k.create(); fresh.Controls.ApprovalPolicy != "never" {
			t.Errorf("a new session has %+v", fresh.Controls)
		}
		k.close()
		k = openWith(t, k.db, k.opts.NodeID, func(o *Options) { o.DefaultsLocked = true })
		if _, _, err := k.EditDefaults(t.Context(), edit); !errors.Is(err, session.ErrDefaultsLocked) {
			t.Errorf("locked: %v", err)
		}
	})
}

func TestControlsOfAbsentSessions(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		_, err := k.Delete(t.Context(), s.ID)
		k.do(err)
		var gone *session.DeletedError
		if _, _, err := k.Controls(t.Context(), s.ID); !errors.As(err, &gone) {
			t.Errorf("read: %v", err)
		}
		if _, err := k.EditControls(t.Context(), s.ID, session.ControlEdit{Edit: settings("a", "1")}); !errors.As(err, &gone) {
			t.Errorf("edit: %v", err)
		}
		if _, err := k.EditControls(t.Context(), ids.New(), session.ControlEdit{Edit: settings("a", "1")}); !errors.Is(err,
			session.ErrNotFound) {
			t.Errorf("edit unknown: %v", err)
		}
		if _, err := k.EditControls(t.Context(), k.create().ID, session.ControlEdit{Edit: settings("a", "{")}); err == nil {
			t.Error("a setting that is not JSON was stored")
		}
	})
}

// Ten clients set one key each at the same time: all ten are stored, because each edit sees the result of the one
// before.
func TestEditsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				_, err := k.EditControls(t.Context(), s.ID,
					session.ControlEdit{Audit: &session.ControlAudit{Actor: "a", Source: "b"}, Edit: func(c session.Controls) session.Controls {
						c.Settings[fmt.Sprint("key", i)] = json.RawMessage(fmt.Sprint(i))
						return c
					}})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		controls, _, err := k.Controls(t.Context(), s.ID)
		if err != nil || len(controls.Settings) != 10 || len(k.stored(s.ID)) != 10 {
			t.Errorf("%v, %d entries, %v", maps.Keys(controls.Settings), len(k.stored(s.ID)), err)
		}
	})
}

// A message's options are merged into the controls stored by then, not into those its sender saw.
func TestMessageOptionsKeepSettings(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.fake.onTurn = func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error) {
			k.edit(s.ID, session.ControlEdit{Edit: settings("a", "1")})
			k.fake.begin(in.ThreadID, turnID)
			return runtime.StartedTurn{TurnID: turnID}, nil
		}
		_, err := k.Send(context.Background(), s.ID, session.Message{Text: "hi", ApprovalPolicy: ptr("on-failure")})
		k.do(err)
		controls, _, err := k.Controls(t.Context(), s.ID)
		if err != nil || controls.ApprovalPolicy != "on-failure" || string(controls.Settings["a"]) != "1" {
			t.Errorf("got %+v, %v", controls, err)
		}
	})
}
