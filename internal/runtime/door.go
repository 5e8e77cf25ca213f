package runtime

import "context"

// ToolServer is an MCP server at the port for agents, for one conversation: streamable HTTP.
type ToolServer struct {
	// Name is the server's name for the agent, URL its address, Token the bearer token that identifies the session.
	Name, URL, Token string
}

// Whether an agent has its own tools besides those of this server.
const (
	NativeToolsOn  = "on"
	NativeToolsOff = "off"
)

// Door issues the bearer tokens by which agents identify their session at the server's port for agents.
type Door interface {
	// URL is the base URL of that port.
	URL() string
	// Of returns the bearer token of a session.
	Of(sessionID string) string
	// Unnamed returns the bearer token of a conversation that the runtime has yet to name. bind stores its session.
	Unnamed() (bearer string, bind func(ctx context.Context, sessionID string) error)
}

// The paths below Door.URL of this server's tools, and of the control of sessions.
const (
	ToolPath    = "/mcp"
	ControlPath = "/mcp/control"
)

// The variables by which a program in a session finds the server: this server's own, and those of codex-manager's
// command line.
const (
	DoorURLVariable    = "HARNESS_URL"
	DoorBearerVariable = "HARNESS_SESSION_TOKEN"

	codexManagerURL    = "CODEX_MANAGER_API_BASE"
	codexManagerBearer = "CODEX_MANAGER_BEARER_TOKEN"
)

// DoorVariables returns the variables for the port for agents and, unless it is "", for a session's bearer token.
func DoorVariables(url, bearer string) map[string]string {
	variables := map[string]string{DoorURLVariable: url, codexManagerURL: url}
	if bearer != "" {
		variables[DoorBearerVariable], variables[codexManagerBearer] = bearer, bearer
	}
	return variables
}

// DoorEnv returns DoorVariables as assignments of an environment.
func DoorEnv(url, bearer string) (env []string) {
	for name, value := range DoorVariables(url, bearer) {
		env = append(env, name+"="+value)
	}
	return env
}
