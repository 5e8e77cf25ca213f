package server

import (
	"strings"
	"testing"

	"harness/internal/platform/config"
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
		"unknown":       {cfg: config.Tools{Names: []string{"workspace.delete"}}, says: "this server has workspace.read"},
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
