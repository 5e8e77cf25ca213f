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

// ToolAccess gives conversations access to the tools of this server. An adapter that has none offers none.
type ToolAccess interface {
	// Of is the access of a session.
	Of(sessionID string) ToolServer
	// Unnamed is that of a conversation whose runtime has yet to name it; bind tells which session it became.
	Unnamed() (server ToolServer, bind func(ctx context.Context, sessionID string) error)
}
