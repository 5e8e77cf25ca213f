package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"harness/internal/services/session"
)

// fakeControls stores controls according to the contract of operations.Controls.
type fakeControls struct {
	mu       sync.Mutex
	defaults session.Controls
	sessions map[string]session.Controls
	audits   []*session.ControlAudit
}

func newFakeControls(policy, network, sandbox string) *fakeControls {
	return &fakeControls{defaults: session.Controls{ApprovalPolicy: policy, NetworkAccess: network,
		FilesystemSandbox: sandbox}, sessions: map[string]session.Controls{}}
}

func (f *fakeControls) of(id string) session.Controls {
	if _, known := f.sessions[id]; !known {
		f.sessions[id] = f.defaults
	}
	return f.sessions[id]
}

func (f *fakeControls) Controls(_ context.Context, id string) (session.Controls, session.Controls, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of(id), f.defaults, nil
}

func (f *fakeControls) Defaults(context.Context) (session.Controls, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.defaults, nil
}

func (f *fakeControls) EditDefaults(_ context.Context, edit func(session.Controls) session.Controls) (session.Controls,
	bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.defaults
	f.defaults = edit(before)
	return f.defaults, !f.defaults.Equal(before), nil
}

func (f *fakeControls) EditControls(_ context.Context, id string, edit session.ControlEdit) (
	session.ControlChange, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.of(id)
	if edit.Defaults {
		before = f.defaults
	}
	kept := maps.Clone(before.Settings)
	after := edit.Edit(before)
	if !maps.EqualFunc(kept, before.Settings, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		panic("edit changed the settings it was given")
	}
	changed := !sameControls(before, after)
	if changed && edit.Defaults {
		f.defaults = after
	} else if changed {
		f.sessions[id] = after
	}
	if changed && edit.Audit != nil {
		f.audits = append(f.audits, edit.Audit)
	}
	return session.ControlChange{Controls: f.of(id), Defaults: f.defaults, Changed: changed}, nil
}

func sameControls(a, b session.Controls) bool {
	decode := func(c session.Controls) any {
		if c.Settings == nil {
			c.Settings = map[string]json.RawMessage{}
		}
		text, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			panic(err)
		}
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

// TestRecordedControls replays the recorded exchanges about controls and settings, unlocked and locked. Members of
// settings compare as values.
func TestRecordedControls(t *testing.T) {
	t.Parallel()
	for topic, controls := range map[string]*fakeControls{
		"controls-settings":              newFakeControls("untrusted", "restricted", "read-only"),
		"queue-disabled-defaults-locked": newFakeControls("never", "enabled", "workspace-write"),
	} {
		b := setup(t, func(o *parts) {
			o.Controls, o.DefaultsLocked = controls, topic == "queue-disabled-defaults-locked"
		})
		replayed := 0
		for _, e := range readExchanges(t) {
			if e.Topic != topic {
				continue
			}
			if e.Name == "new session inherits default" {
				// The recorded session was created while the default was different.
				delete(controls.sessions, sessionOf(e.Path))
			}
			b.prime(t, e)
			body := ""
			if e.Body != nil {
				body = *e.Body
			}
			got := b.send(e.Method, e.Path, e.Type, body)
			replayed++
			if e.Name == "delete key 101" { // codex-manager could not delete a key that it let clients write
				e.Status = http.StatusOK
				e.Reply = `{"status":"unchanged","sessionId":"` + sessionOf(e.Path) + `","scope":"session","key":"` +
					strings.Repeat("k", 101) + `","removed":false,"settings":{"k2":1,"a.b.c":1}}`
			}
			if got.Code != e.Status || !sameJSON(t, got.Body.Bytes(), []byte(e.Reply)) {
				t.Errorf("%s / %s: %s %s %s\ngot  %d %s\nwant %d %s", topic, e.Name, e.Method, e.Path, body, got.Code, got.Body,
					e.Status, e.Reply)
			}
		}
		if replayed < 8 {
			t.Errorf("%s: only %d exchanges", topic, replayed)
		}
	}
}

// TestControlsAudit: a change records its author. A change of only the approval policy leaves no record.
func TestControlsAudit(t *testing.T) {
	t.Parallel()
	controls := newFakeControls("never", "enabled", "read-only")
	b := setup(t, func(o *parts) { o.Controls = controls })
	const one = "/api/sessions/" + knownID
	b.post(one+"/settings", `{"scope":"session","key":"a","value":1}`)
	b.post(one+"/settings", `{"scope":"session","key":"a","value":1}`) // unchanged
	b.post(one+"/session-controls",
		`{"scope":"session","controls":{"model":"m","approvalPolicy":"never","networkAccess":"enabled","filesystemSandbox":"read-only"}}`)
	b.post(one+"/approval-policy", `{"approvalPolicy":"on-request"}`)
	b.send(http.MethodDelete, one+"/settings/a?actor=x&source=y", "", "")
	want := []*session.ControlAudit{{Actor: "user", Source: "api"}, {Actor: "user", Source: "ui"},
		{Actor: "x", Source: "y"}}
	if !reflect.DeepEqual(controls.audits, want) {
		t.Errorf("got %d audits", len(controls.audits))
	}
	expect(t, b.send(http.MethodGet, one+"/session-controls", "", ""), http.StatusOK, `{"status":"ok","sessionId":"`+
		knownID+`","controls":{"model":"m","approvalPolicy":"on-request",`+
		`"networkAccess":"enabled","filesystemSandbox":"read-only","settings":{}},"defaults":{"model":null,`+
		`"approvalPolicy":"never","networkAccess":"enabled","filesystemSandbox":"read-only","settings":{}},`+
		`"defaultsEditable":true,"defaultLockReason":null}`)
}

// TestLongSettingsKey: keys of every legal length can be written, read and deleted.
func TestLongSettingsKey(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *parts) { o.Controls = newFakeControls("never", "enabled", "read-only") })
	key := strings.Repeat("ü", 240)
	b.post("/api/sessions/"+knownID+"/settings", `{"scope":"session","key":"`+key+`","value":1}`)
	got := b.send(http.MethodDelete, "/api/sessions/"+knownID+"/settings/"+strings.Repeat("%C3%BC", 240), "", "")
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"removed":true,"settings":{}`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := b.send(http.MethodDelete, "/api/sessions/"+knownID+"/settings/"+strings.Repeat("k", 241), "",
		""); got.Code != http.StatusBadRequest {
		t.Errorf("241 characters: got %d %s", got.Code, got.Body)
	}
}
