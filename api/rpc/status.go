package rpc

import (
	"context"

	"harness/internal/runtime"
)

// table lists every method. Clients get it as the OpenRPC document, the dispatcher uses it, and the registry names
// only its methods.
func table() []method {
	var all []method
	for _, family := range [][]method{
		lifecycleMethods(), sessionMethods(), requestMethods(), readMethods(), followMethods(), workspaceMethods(),
		statusMethods(),
	} {
		all = append(all, family...)
	}
	return all
}

func statusMethods() []method {
	return []method{
		{name: "status/health", summary: "Check the connection to the server.", role: roleViewer,
			result: object("status", "uptime_seconds"), handle: health},
		{name: "status/get", summary: "A summary of the server's state.", role: roleViewer,
			result: object("claude_state", "connected_clients", "repo_path", "repo_name", "uptime_seconds", "agent_version",
				"watcher_enabled", "git_enabled"), handle: status},
	}
}

func (s *Server) uptime() int64 { return int64(s.opts.Clock().Sub(s.began).Seconds()) }

func health(_ context.Context, c *call) (any, error) {
	return struct {
		Status string `json:"status"`
		Uptime int64  `json:"uptime_seconds"`
	}{"ok", c.server.uptime()}, nil
}

func status(_ context.Context, c *call) (any, error) {
	states, err := c.ops().RuntimeStates()
	if err != nil {
		return nil, err
	}
	state := "stopped"
	if len(states) > 0 && states[0].Status.State == runtime.StateReady {
		state = "idle"
	}
	clients := 0
	c.server.each(func(*peer) { clients++ })
	return struct {
		State    string `json:"claude_state"`
		Clients  int    `json:"connected_clients"`
		RepoPath string `json:"repo_path"`
		RepoName string `json:"repo_name"`
		Uptime   int64  `json:"uptime_seconds"`
		Version  string `json:"agent_version"`
		Watcher  bool   `json:"watcher_enabled"`
		Git      bool   `json:"git_enabled"`
	}{state, clients, "", "", c.server.uptime(), c.server.opts.Version, true, false}, nil
}
