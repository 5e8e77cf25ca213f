package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// FE-46: a mode is offered only where the runtime enforces both of its levels, and full access only where it is allowed.
func TestModesAreWhatARuntimeEnforces(t *testing.T) {
	t.Parallel()
	codex := runtime.Capabilities{Sandboxes: []string{"read-only", "workspace-write", "danger-full-access"},
		ApprovalPolicies: []string{"untrusted", "on-request", "never"}}
	gemini := runtime.Capabilities{Sandboxes: []string{"danger-full-access"}, ApprovalPolicies: []string{"untrusted", "on-request", "never"}}
	for _, one := range []struct {
		can     runtime.Capabilities
		now     session.Controls
		yolo    bool
		offered []string
		current string
	}{
		{codex, session.Controls{ApprovalPolicy: "on-request", FilesystemSandbox: "workspace-write"}, false, []string{"plan", "ask", "edit"}, "edit"},
		{codex, session.Controls{ApprovalPolicy: "never", FilesystemSandbox: "read-only"}, true, []string{"plan", "ask", "edit", "full"}, "plan"},
		{codex, session.Controls{ApprovalPolicy: "never", FilesystemSandbox: "danger-full-access"}, true,
			[]string{"plan", "ask", "edit", "full"}, "full"},
		{codex, session.Controls{ApprovalPolicy: "never", FilesystemSandbox: "danger-full-access"}, false,
			[]string{"plan", "ask", "edit", modeCustom}, modeCustom},
		{gemini, session.Controls{ApprovalPolicy: "untrusted", FilesystemSandbox: "danger-full-access"}, false, []string{"ask"}, "ask"},
	} {
		offered, current := modesOf(one.can, one.now, one.yolo)
		var ids []string
		for _, m := range offered {
			ids = append(ids, m.id)
		}
		if !slices.Equal(ids, one.offered) || current != one.current {
			t.Errorf("%+v has the modes %v, %s", one.now, ids, current)
		}
	}
	now := session.Controls{ApprovalPolicy: "on-request", FilesystemSandbox: "read-only"}
	if ask := modes()[1].in(now, codex); ask.ApprovalPolicy != "untrusted" || ask.FilesystemSandbox != "workspace-write" {
		t.Errorf("ask after plan is %+v", ask)
	}
}

// FE-47: changed files are shown as the texts before and after.
func TestChangedFilesHaveTheirTexts(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"type":"fileChange","id":"1","status":"completed","changes":[
		{"path":"/w/a","kind":{"type":"update"},"diff":"@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9 @@\n-x\n+y\n"},
		{"path":"/w/b","kind":{"type":"add"},"diff":"all\n"},{"path":"/w/c","kind":{"type":"delete"},"diff":"gone\n"}]}`)
	got, _ := json.Marshal(toolCall(wire.ItemFileChange, raw))
	for _, want := range []string{`"oldText":"same\nold\n"`, `"newText":"same\nnew\n"`, `"oldText":"x\n"`, `"newText":"all\n","oldText":null`,
		`"newText":"","oldText":"gone\n"`, `"locations":[{"path":"/w/a"}`, `"kind":"edit"`, `"status":"completed"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the call lacks %s: %s", want, got)
		}
	}
}

// FE-48: a request offers what the runtime offers, by its own names, and nothing more.
func TestPermissionsOfferWhatTheRuntimeOffers(t *testing.T) {
	t.Parallel()
	f := &follow{session: session.Session{Capabilities: json.RawMessage(`{"approveForSession":true}`)}}
	for want, row := range map[string]session.Request{
		"accept accept:session decline": {},
		"accept decline":                {OfServer: true},
		"accept choice:2 decline": {Decisions: json.RawMessage(
			`["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["ls"]}},"decline"]`)},
		"option:once option:forever": {Asked: runtime.Asked{Options: []runtime.Option{
			{ID: "once", Decision: "accept", Scope: "turn"}, {ID: "forever", Decision: "accept"}}}},
	} {
		offered, decisions := f.options(row)
		var ids []string
		for _, one := range offered {
			id, _ := one["optionId"].(string)
			if ids = append(ids, id); decisions[id].Decision == "" {
				t.Errorf("%s decides nothing", id)
			}
		}
		if strings.Join(ids, " ") != want {
			t.Errorf("%+v offers %v", row, ids)
		}
	}
	if kind := kindOf("accept", ""); kind != "allow_always" {
		t.Errorf("an option of unknown length is %s", kind)
	}
}
