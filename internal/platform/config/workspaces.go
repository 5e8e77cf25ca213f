package config

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// The values of HARNESS_WORKSPACES besides "pinned": how other nodes access the folders of sessions.
const (
	WorkspacesShared = "shared"
	WorkspacesGit    = "git"
)

// isRemote accepts the address of a git repository without a password: a password would be in the command lines of
// git's child processes, where agents can read it. It refuses transports that are programs (ext::).
func isRemote(s string) bool {
	if filepath.IsAbs(s) {
		return true
	}
	if !strings.Contains(s, "://") {
		host, path, is := strings.Cut(s, ":")
		return is && host != "" && path != "" && !strings.HasPrefix(path, ":") && !strings.HasPrefix(s, "-") && !strings.Contains(host, "/")
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains([]string{"https", "http", "ssh", "git"}, u.Scheme) {
		return false
	}
	_, password := u.User.Password()
	return !password && (u.User == nil || u.Scheme == "ssh")
}

func (c *Config) checkWorkspaces() error {
	if c.Workspaces == WorkspacesGit && c.WorkspaceRemote == "" {
		return &RuleError{"HARNESS_WORKSPACES", "git needs HARNESS_WORKSPACE_REMOTE: the repository that folders of sessions are pushed to"}
	}
	if c.Workspaces != WorkspacesGit && c.WorkspaceRemote != "" {
		return &RuleError{"HARNESS_WORKSPACE_REMOTE", "nothing is pushed there without HARNESS_WORKSPACES=git: set that, or leave it unset"}
	}
	return nil
}
