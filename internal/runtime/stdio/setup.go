package stdio

import (
	"context"
	"encoding/json"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
)

// Setup has the server's parts for the adapter of an agent on standard pipes. The adapter adds its own:
// Launch.Command, Launch.Remedy, and the Supervise fields that depend on the protocol.
type Setup struct {
	Launch    Launch
	Supervise Options
	// Home is the folder of the agent's logins, settings and state.
	Home environment.Home
	// SessionHome creates and returns the home of a session and the folders that must stay visible (Program.Keep), if
	// each session has a home (environment.LevelEphemeral). It is nil if all share Home. ForgetHome deletes the home
	// of a session; nil deletes nothing.
	SessionHome func(session string) (home environment.Home, keep []string, err error)
	ForgetHome  func(session string) error
	// SessionHomes returns the sessions with a home; nil if other servers may have made some. KnownSession reports
	// whether a session is stored. The next start deletes the homes of unknown sessions.
	SessionHomes func() ([]string, error)
	KnownSession func(ctx context.Context, session string) (bool, error)
	// LastState returns the last runtime.Batch.State of a conversation's previous process, or with "" of the
	// runtime's last process. The next translator may start from it. It returns nil when there is none.
	LastState func(ctx context.Context, threadID string) (json.RawMessage, error)
	// Door issues the bearer tokens of conversations; nil issues none. Tools is the agent's name for the server's
	// tools, and Control its name for the control of sessions, "" for none; they need a Door.
	Door           runtime.Door
	Tools, Control string
	// NativeToolsOff reports whether the agent's own tools are disabled in a conversation; nil means never. It is
	// false for a conversation that is not stored yet.
	NativeToolsOff func(ctx context.Context, threadID string) (bool, error)
	// Idle and MaxProcesses are for a runtime with a process per conversation (processes.Options).
	Idle         time.Duration
	MaxProcesses int
	// TurnWatchdog is how long an agent may be silent in a turn.
	TurnWatchdog TurnWatchdog
	// Version is the server's version, sent to the agent.
	Version string
}

// ServerNames returns the agent's names for its MCP servers at the Door.
func (s *Setup) ServerNames() (names []string) {
	for _, one := range s.Servers("") {
		names = append(names, one.Name)
	}
	return names
}

// Servers returns the MCP servers of a conversation with a bearer token. This server decides about all their tools.
func (s *Setup) Servers(bearer string) (servers []runtime.ToolServer) {
	for _, one := range []struct{ name, path string }{{s.Tools, runtime.ToolPath}, {s.Control, runtime.ControlPath}} {
		if one.name != "" {
			servers = append(servers, runtime.ToolServer{Name: one.name, URL: s.Door.URL() + one.path, Token: bearer})
		}
	}
	return servers
}
