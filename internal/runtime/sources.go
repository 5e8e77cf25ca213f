package runtime

// What an agent may read by itself, without a message that says so: values of Capabilities.ImplicitSources.
const (
	// ImplicitAll is what lies in its home and in the folder it works in: settings, instructions, MCP servers.
	ImplicitAll = "all"
	// ImplicitHome is what lies in its home, which is the operator's, and nothing of the folder it works in.
	ImplicitHome = "home"
	// ImplicitNone is nothing.
	ImplicitNone = "none"
)

// Kinds of sources, as in Source.Kind.
const (
	SourceSettings     = "settings"     // what it may do and with what, MCP servers among it
	SourceInstructions = "instructions" // texts it gets before all messages
)

// Source is a file that an agent reads by itself for a conversation. It never holds what is in the file.
type Source struct {
	// Path is absolute. Scope is SourceOfHome, SourceOfFolder or SourceOfSystem.
	Path  string `json:"path"`
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
	// Bytes is how long it is, SHA256 the hash of what is in it, in hex; both empty where it cannot be read, and Reason
	// says why.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Reason string `json:"reason,omitempty"`
}

// Whose a source is, as in Source.Scope: the agent's home, the folder of the conversation and those above it, or the
// machine.
const (
	SourceOfHome   = "home"
	SourceOfFolder = "folder"
	SourceOfSystem = "system"
)

// Sourcer is a runtime that knows what its agent reads by itself.
type Sourcer interface {
	// Sources are the files there are now of those that the agent reads for a conversation in a folder that may read as
	// much (ImplicitAll, ...).
	Sources(sessionID, cwd, implicit string) ([]Source, error)
}
