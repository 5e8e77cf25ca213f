package runtime

// Facts describe the design of a runtime in the terms of the task API. Each adapter reports its own agent; "" is
// unknown.
type Facts struct {
	// Auth is AuthLocal, AuthKey or AuthBoth.
	Auth string `json:"authModel"`
	// ToolExecution is the part that runs tools: ToolsInternal, ToolsExternal or ToolsHybrid. Permission is the part
	// that approves them: PermissionRuntime, PermissionServer or PermissionHybrid.
	ToolExecution string `json:"toolExecutionModel"`
	Permission    string `json:"permissionModel"`
	// State is the place of the conversations: StateDisk, StateMemory or StateServer.
	State string `json:"stateModel"`
	// Resume is the way an earlier conversation continues: ResumeNative, ResumeReconstruct or ResumeNone.
	Resume string `json:"resumeModel"`
	// Replay is the requirement for a repeated call: ReplayAsks, ReplaySafe or "".
	Replay string `json:"toolReplaySafety"`
	// MCP is the runtime's role in the protocol, MCPNone or MCPClient. Transports are the ones it supports for this
	// server's tools.
	MCP        string   `json:"mcpSupport"`
	Transports []string `json:"mcpTransports"`
	// Cancellation is CancelBestEffort or CancelGuaranteed.
	Cancellation string `json:"cancellationModel"`
	// Isolation lists the supported ways to host the runtime.
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

// TakesTools completes the facts of a runtime that calls this server's tools over a transport, "" for none.
func (f Facts) TakesTools(transport string) Facts {
	if transport == "" {
		f.ToolExecution, f.Permission, f.MCP, f.Transports = ToolsInternal, PermissionRuntime, MCPNone, []string{}
		return f
	}
	f.ToolExecution, f.Permission, f.MCP, f.Transports = ToolsHybrid, PermissionHybrid, MCPClient, []string{transport}
	return f
}
