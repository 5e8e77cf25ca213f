package runtime

import "context"

// ToolServer is where a conversation reaches the tools of this server: by MCP over streamable HTTP.
type ToolServer struct {
	// Name is what the agent is to know it by, URL its address, Token the bearer that shows which session asks.
	Name, URL, Token string
}

// Whether an agent has tools of its own besides those of this server.
const (
	NativeToolsOn  = "on"
	NativeToolsOff = "off"
)

// Door gives conversations the bearers by which agents show, at the server's port for agents, which session they work for.
type Door interface {
	// URL is the base URL of that port.
	URL() string
	// Of is the bearer of a session.
	Of(sessionID string) string
	// Unnamed is that of a conversation whose runtime has yet to name it; bind stores which session it became.
	Unnamed() (bearer string, bind func(ctx context.Context, sessionID string) error)
}

// ToolPath is where Door.URL serves the tools of this server.
const ToolPath = "/mcp"

// The variables by which a program within a session finds the server: this server's own, and those of codex-manager's
// command line.
const (
	DoorURLVariable    = "HARNESS_URL"
	DoorBearerVariable = "HARNESS_SESSION_TOKEN"

	codexManagerURL    = "CODEX_MANAGER_API_BASE"
	codexManagerBearer = "CODEX_MANAGER_BEARER_TOKEN"
)

// DoorVariables are the variables that name the port for agents and, unless it is "", a session's bearer.
func DoorVariables(url, bearer string) map[string]string {
	variables := map[string]string{DoorURLVariable: url, codexManagerURL: url}
	if bearer != "" {
		variables[DoorBearerVariable], variables[codexManagerBearer] = bearer, bearer
	}
	return variables
}

// DoorEnv is DoorVariables as assignments of an environment.
func DoorEnv(url, bearer string) (env []string) {
	for name, value := range DoorVariables(url, bearer) {
		env = append(env, name+"="+value)
	}
	return env
}
