package runtime

import "slices"

// Capabilities are the features of a runtime. A session keeps the ones it was opened with.
type Capabilities struct {
	Streaming bool `json:"streaming"`
	Resume    bool `json:"resume"`
	// Reconstruct reports whether a lost conversation can restart with its earlier messages (StartTurn.History).
	Reconstruct     bool `json:"reconstruct"`
	Steer           bool `json:"steer"`
	Interrupt       bool `json:"interrupt"`
	Approvals       bool `json:"approvals"`
	ToolInput       bool `json:"toolInput"`
	DynamicTools    bool `json:"dynamicTools"`
	ListThreads     bool `json:"listThreads"`
	SurvivesRestart bool `json:"survivesRestart"`
	// Archive and Rollback report whether the runtime itself can archive conversations and remove turns.
	Archive  bool `json:"archive"`
	Rollback bool `json:"rollback"`
	// Fork, Compact and Review report whether the runtime can fork a conversation, shorten its context, and review
	// changes.
	Fork    bool `json:"fork"`
	Compact bool `json:"compact"`
	Review  bool `json:"review"`
	// Images reports whether a message may contain images.
	Images bool `json:"images"`
	// DenyReason reports whether the model gets the reason of a refusal at once. Otherwise the next message carries
	// it (StartTurn.Aside). ApproveForSession reports whether an approval can last for the whole session.
	DenyReason        bool `json:"denyReason"`
	ApproveForSession bool `json:"approveForSession"`
	// Plan and Usage report whether the runtime sends its plan and its token usage.
	Plan  bool `json:"plan"`
	Usage bool `json:"usage"`
	// Subagents reports whether the runtime can delegate work to sub-agents, SelfStartedTurns whether it can start
	// turns without a request.
	Subagents        bool `json:"subagents"`
	SelfStartedTurns bool `json:"selfStartedTurns"`
	// ParallelToolCalls reports whether the runtime can run, and request approval for, several tools at a time.
	ParallelToolCalls bool `json:"parallelToolCalls"`
	// NativeToolsOff reports whether its built-in tools can be disabled. OwnedTools is the channel through which it
	// reaches the tools of this server.
	NativeToolsOff bool   `json:"nativeToolsOff"`
	OwnedTools     string `json:"ownedTools"`
	// ProcessPer is ProcessPerRuntime or ProcessPerThread.
	ProcessPer string `json:"processPer"`
	// Sandboxes, ApprovalPolicies and NetworkAccess are the levels the runtime enforces. CheckControls refuses others
	// before a session opens or changes (*ControlError).
	Sandboxes        []string `json:"sandboxes"`
	ApprovalPolicies []string `json:"approvalPolicies"`
	NetworkAccess    []string `json:"networkAccess"`
	// KeepsFullAccessPair allows danger-full-access together with a restricted network, although nothing restricts
	// the network then. Clients of codex-manager send this pair.
	KeepsFullAccessPair bool `json:"-"`
	// ImplicitSources are the levels that limit the files the agent reads without a request (ImplicitAll, ...), its
	// default first. Empty if unknown.
	ImplicitSources []string `json:"implicitSources"`
	// AutoApproved lists the agent's own tools, in its names, that run without approval under the policy untrusted.
	AutoApproved []string `json:"unasked"`
	// Facts appear only in the task API.
	Facts Facts `json:"-"`
}

// Values of Capabilities.ProcessPer: one process for all conversations of a runtime, or one for each.
const (
	ProcessPerRuntime = "runtime"
	ProcessPerThread  = "thread"
)

// Values of Capabilities.OwnedTools: none, tools declared by a client at session start, MCP over HTTP, or the runtime's
// control channel.
const (
	OwnedNone    = "none"
	OwnedDynamic = "dynamic"
	OwnedMCP     = "mcp-http"
	OwnedControl = "control-channel"
)

// MaxToolCalls is the maximum number of open calls of this server's tools in a conversation.
func (c Capabilities) MaxToolCalls() int {
	if c.ParallelToolCalls {
		return 8
	}
	return 1
}

// CapabilitiesOf combines an adapter's Capabilities with those its optional interfaces imply. All callers use it.
func CapabilitiesOf(adapter Adapter) Capabilities {
	c := adapter.Capabilities()
	_, c.Steer = Has[Steerer](adapter, OpSteer)
	_, c.ListThreads = Has[History](adapter, OpHistory)
	_, c.Archive = Has[Archiver](adapter, OpArchive)
	_, c.Rollback = Has[Reverter](adapter, OpRevert)
	_, c.Fork = Has[Forker](adapter, OpFork)
	_, c.Compact = Has[Compactor](adapter, OpCompact)
	_, c.Review = Has[Reviewer](adapter, OpReview)
	if c.ImplicitSources == nil {
		c.ImplicitSources = []string{}
	}
	if c.AutoApproved == nil {
		c.AutoApproved = []string{}
	}
	if c.OwnedTools == "" {
		c.OwnedTools = OwnedNone
	}
	return c
}

// CheckControls returns a *ControlError for a level that the named runtime does not enforce. An empty level is the
// runtime's default.
func (c Capabilities) CheckControls(runtime, approvalPolicy, sandbox, networkAccess string) error {
	for _, control := range []struct {
		field, value string
		enforced     []string
	}{{"approvalPolicy", approvalPolicy, c.ApprovalPolicies}, {"filesystemSandbox", sandbox, c.Sandboxes},
		{"networkAccess", networkAccess, c.NetworkAccess}} {
		if control.value != "" && !slices.Contains(control.enforced, control.value) {
			return &ControlError{Runtime: runtime, Field: control.field, Value: control.value, Enforced: control.enforced}
		}
	}
	return nil
}
