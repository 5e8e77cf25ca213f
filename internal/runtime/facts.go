package runtime

// Facts describe how a runtime is built, in the terms of the task API. Each adapter reports its own agent; "" is
// unknown.
type Facts struct {
	// Auth is AuthLocal, AuthKey or AuthBoth.
	Auth string `json:"authModel"`
	// ToolExecution is the part that runs tools: ToolsInternal, ToolsExternal or ToolsHybrid. Permission is the part
	// that approves them: PermissionRuntime, PermissionServer or PermissionHybrid.
	ToolExecution string `json:"toolExecutionModel"`
	Permission    string `json:"permissionModel"`
	// State is where conversations live: StateDisk, StateMemory or StateServer.
	State string `json:"stateModel"`
	// Resume is how an earlier conversation continues: ResumeNative, ResumeReconstruct or ResumeNone.
	Resume string `json:"resumeModel"`
	// Replay says what a repeated call needs: ReplayAsks, ReplaySafe or "".
	Replay string `json:"toolReplaySafety"`
	// MCP is the runtime's role in the protocol, MCPNone or MCPClient. Transports are those it supports for the tools of
	// this server.
	MCP        string   `json:"mcpSupport"`
	Transports []string `json:"mcpTransports"`
	// Cancellation is CancelBestEffort or CancelGuaranteed.
	Cancellation string `json:"cancellationModel"`
	// Isolation are the ways the runtime can be hosted here.
	Isolation []string `json:"supportedIsolationModes"`
}

// Values of Facts.
const (
	AuthLocal = "oauth_local"
	AuthKey   = "api_key"
	AuthBoth  = "both"

	ToolsInternal = "runtime_internal"
	ToolsExternal = "external_mcp"
	ToolsHybrid   = "hybrid"

	PermissionRuntime = "runtime"
	PermissionServer  = "codesdk"
	PermissionHybrid  = "hybrid"

	StateMemory = "in_process"
	StateDisk   = "local_disk"
	StateServer = "server_side"

	ResumeNative      = "native"
	ResumeReconstruct = "reconstruct"
	ResumeNone        = "none"

	ReplaySafe = "safe_replay"
	ReplayAsks = "requires_reapproval"

	MCPNone   = "none"
	MCPClient = "client_only"

	TransportHTTP  = "http"
	TransportStdio = "stdio"

	CancelBestEffort = "best_effort"
	CancelGuaranteed = "guaranteed"

	IsolationProcess = "subprocess"
)

// TakesTools completes the facts of a runtime that uses the tools of this server over a transport, "" for none.
func (f Facts) TakesTools(transport string) Facts {
	if transport == "" {
		f.ToolExecution, f.Permission, f.MCP, f.Transports = ToolsInternal, PermissionRuntime, MCPNone, []string{}
		return f
	}
	f.ToolExecution, f.Permission, f.MCP, f.Transports = ToolsHybrid, PermissionHybrid, MCPClient, []string{transport}
	return f
}
