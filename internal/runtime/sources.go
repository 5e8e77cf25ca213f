package runtime

// Levels of the files an agent may read without a request: values of Capabilities.ImplicitSources.
const (
	// ImplicitAll allows its home and its working directory: settings, instructions, MCP servers.
	ImplicitAll = "all"
	// ImplicitHome allows its home, which belongs to the operator, but no file of its working directory.
	ImplicitHome = "home"
	// ImplicitNone allows no file.
	ImplicitNone = "none"
)

// Kinds of sources, as in Source.Kind.
const (
	SourceSettings     = "settings"     // permissions and tools, including MCP servers
	SourceInstructions = "instructions" // texts that precede all messages
)

// Source is a file that an agent reads without a request in a conversation. It never has the content of the file.
type Source struct {
	// Path is absolute. Scope is SourceOfHome, SourceOfFolder or SourceOfSystem.
	Path  string `json:"path"`
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
	// Bytes is the length, SHA256 the hash of the content in hex. Both are empty for an unreadable file; Reason has
	// the cause.
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

// Sourcer is a runtime that can list the files its agent reads without a request.
type Sourcer interface {
	// Sources lists the existing files that the agent reads for a conversation in a folder at a level (ImplicitAll,
	// ...).
	Sources(sessionID, cwd, implicit string) ([]Source, error)
}
