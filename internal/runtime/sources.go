package runtime

// What an agent may read without being asked to: values of Capabilities.ImplicitSources.
const (
	// ImplicitAll is its home and its working directory: settings, instructions, MCP servers.
	ImplicitAll = "all"
	// ImplicitHome is its home, which belongs to the operator, and nothing of its working directory.
	ImplicitHome = "home"
	// ImplicitNone is nothing.
	ImplicitNone = "none"
)

// Kinds of sources, as in Source.Kind.
const (
	SourceSettings     = "settings"     // permissions and tools, including MCP servers
	SourceInstructions = "instructions" // texts that precede all messages
)

// Source is a file that an agent reads on its own for a conversation. It never has the content of the file.
type Source struct {
	// Path is absolute. Scope is SourceOfHome, SourceOfFolder or SourceOfSystem.
	Path  string `json:"path"`
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
	// Bytes is its length, SHA256 the hash of its content in hex. Both are empty when it is unreadable; Reason says why.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Reason string `json:"reason,omitempty"`
}

// Owners of a source, as in Source.Scope: the agent's home, the conversation's folder and those above it, or the
// machine.
const (
	SourceOfHome   = "home"
	SourceOfFolder = "folder"
	SourceOfSystem = "system"
)

// Sourcer is a runtime that knows which files its agent reads on its own.
type Sourcer interface {
	// Sources are the existing files that the agent reads for a conversation in a folder at a level (ImplicitAll, ...).
	Sources(sessionID, cwd, implicit string) ([]Source, error)
}
