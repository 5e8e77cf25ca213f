package config

import (
	"strings"
	"testing"
)

// A remote for which git could run a program, or that contains a password, is refused without quoting it.
func TestRemotesOfFolders(t *testing.T) {
	t.Parallel()
	for remote, ok := range map[string]bool{
		"/srv/git/w.git": true, "git@example.org:w.git": true, "ssh://git@example.org/w.git": true, "https://example.org/w.git": true,
		"w.git": false, "../w.git": false, "ext::sh -c id": false, "https://u:password@example.org/w.git": false,
		"https://password@example.org/w.git": false, "ssh://git:password@example.org/w.git": false, "-u:x": false, "fd::3": false,
		"file://host/w.git": false,
	} {
		p := newPlace(t)
		p.env = []string{"HARNESS_WORKSPACES=git", "HARNESS_WORKSPACE_REMOTE=" + remote}
		_, err := p.load()
		if (err == nil) != ok {
			t.Errorf("%q: %v", remote, err)
		}
		if err != nil && strings.Contains(err.Error(), "password@") {
			t.Errorf("the refusal contains the password: %v", err)
		}
	}
	for _, set := range [][]string{{"HARNESS_WORKSPACES=git"}, {"HARNESS_WORKSPACE_REMOTE=/srv/w.git"}} {
		p := newPlace(t)
		p.env = set
		if _, err := p.load(); err == nil {
			t.Errorf("%v alone is taken", set)
		}
	}
}
