package acp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// mcpServer is an MCP server of a conversation.
type mcpServer struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	URL     string   `json:"url"`
	Headers []header `json:"headers"`
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// toolServers returns the agent's names for the MCP servers of this server.
func (r *Runtime) toolServers() []string {
	if r.profile.SharesServers {
		return nil
	}
	return r.setup.ServerNames()
}

// offeredTools returns the MCP servers of a conversation: those of this server, if the agent supports HTTP.
func (r *Runtime) offeredTools(conn *stdio.Conn, thread string) []mcpServer {
	p := protocolOf(conn)
	p.mu.Lock()
	takes := p.agent.Can.Servers.HTTP
	p.mu.Unlock()
	servers := []mcpServer{}
	if !takes || thread == "" || len(r.toolServers()) == 0 {
		return servers
	}
	for _, one := range r.setup.Servers(r.setup.Door.Of(thread)) {
		servers = append(servers, mcpServer{"http", one.Name, one.URL, []header{{"Authorization", "Bearer " + one.Token}}})
	}
	return servers
}

// requireNoSettings refuses a workspace with settings of the agent, if the agent trusts workspaces in order to use
// the server's tools. Such settings could allow programs to run without approval.
func (r *Runtime) requireNoSettings(cwd string) error {
	if r.profile.TrustsFor == "" || len(r.toolServers()) == 0 || cwd == r.lookup("HOME") {
		return nil
	}
	places := []string{filepath.Join(cwd, r.profile.TrustsFor)}
	for above := filepath.Dir(cwd); above != filepath.Dir(above); above = filepath.Dir(above) {
		if above != r.lookup("HOME") {
			places = append(places, filepath.Join(above, r.profile.TrustsFor, ".env"))
		}
	}
	for _, place := range places {
		if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return fmt.Errorf("look for settings of %s: %w", r.profile.title(), err)
		}
		return fmt.Errorf("%w: %s is given the tools of this server, for which it has to trust its workspace; then %s "+
			"would count, and could have commands run unasked: remove it, or name the runtimes that are given tools without %s "+
			"in HARNESS_TOOLS_RUNTIMES", runtime.ErrInvalidState, r.profile.title(), place, r.profile.Name)
	}
	return nil
}
