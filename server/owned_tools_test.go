package server

import (
	"strings"
	"testing"

	"harness/internal/platform/config"
	"harness/internal/services/session"
	"harness/internal/services/tools"
	"harness/internal/services/tools/workspace"
)

// TL-07, TL-11, TL-15: exactly the named tools are enabled. The server refuses to start with an invalid setting, or one
// that needs consent without it.
func TestTheToolsThatAreSwitchedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  config.Tools
		says string
		yolo bool
	}{
		"none":        {cfg: config.Tools{}, says: ""},
		"some":        {cfg: config.Tools{Names: []string{"workspace.read", "http.fetch"}}, says: ""},
		"programs":    {cfg: config.Tools{Names: []string{"workspace.exec"}, Programs: []string{"git"}}, says: ""},
		"no programs": {cfg: config.Tools{Names: []string{"workspace.exec"}}, says: "HARNESS_TOOLS_PROGRAMS"},
		"a program by path": {cfg: config.Tools{Names: []string{"workspace.exec"}, Programs: []string{"/bin/sh"}},
			says: "without a folder"},
		"unknown":       {cfg: config.Tools{Names: []string{"workspace.delete"}}, says: "there are workspace.read"},
		"twice":         {cfg: config.Tools{Names: []string{"workspace.read", "workspace.read"}}, says: "another tool"},
		"yolo":          {cfg: config.Tools{Mode: "yolo"}, says: "HARNESS_ALLOW_YOLO"},
		"yolo, allowed": {cfg: config.Tools{Mode: "yolo"}, yolo: true},
		"rules": {cfg: config.Tools{Allow: []string{"write", "workspace.exec"}, Deny: []string{"network"}},
			says: ""},
		"a wrong rule": {cfg: config.Tools{Deny: []string{"wirte"}}, says: `HARNESS_TOOLS_RULES: "wirte"`},
	} {
		registry, err := chosenTools(c.cfg, workspace.Limits{})
		if err == nil {
			if _, policyErr := toolPolicy(c.cfg, c.yolo); policyErr != nil {
				err = policyErr
			} else if names := namesOfTools(registry.Tools()); strings.Join(names, " ") != strings.Join(c.cfg.Names, " ") {
				t.Errorf("%s: there are %v", name, names)
			}
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// RA-18, TL-24: the levels of a session apply to the tools of this server, whatever its policy allows.
func TestTheLevelsOfASessionHoldForTools(t *testing.T) {
	t.Parallel()
	open := tools.Policy{Mode: tools.ModeYolo, Overrides: tools.Overrides{AllowTools: []string{"workspace.write"}}}
	for _, c := range []struct {
		controls session.Controls
		class    tools.Class
		want     tools.Result
	}{
		{session.Controls{ApprovalPolicy: "on-request", FilesystemSandbox: "workspace-write", NetworkAccess: "enabled"},
			tools.Network, tools.Allow},
		{session.Controls{ApprovalPolicy: "on-request", FilesystemSandbox: "workspace-write", NetworkAccess: "restricted"},
			tools.Network, tools.Deny},
		{session.Controls{ApprovalPolicy: "on-request", FilesystemSandbox: "read-only", NetworkAccess: "enabled"},
			tools.Write, tools.Deny},
		{session.Controls{ApprovalPolicy: "on-request", FilesystemSandbox: "read-only", NetworkAccess: "enabled"},
			tools.Dangerous, tools.Deny},
		{session.Controls{ApprovalPolicy: "untrusted", FilesystemSandbox: "read-only", NetworkAccess: "enabled"},
			tools.ReadOnly, tools.Ask},
		{session.Controls{ApprovalPolicy: "never", FilesystemSandbox: "workspace-write", NetworkAccess: "enabled"},
			tools.Dangerous, tools.Allow},
	} {
		policy := narrowed(open, c.controls)
		if got := policy.Settle(policy.Evaluate("a.tool", c.class)); got.Decision != c.want {
			t.Errorf("%+v: %s is %s, want %s", c.controls, c.class, got.Decision, c.want)
		}
	}
	policy := narrowed(tools.Policy{Mode: tools.ModeAsk}, session.Controls{ApprovalPolicy: "never"})
	if got := policy.Settle(policy.Evaluate("a.tool", tools.ReadOnly)); got.Decision != tools.Deny {
		t.Errorf("without a person to ask it is %s", got.Decision)
	}
	if len(open.DenyClasses) != 0 {
		t.Error("a session narrowed the policy of all")
	}
}
