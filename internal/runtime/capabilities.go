package runtime

import "slices"

// Capabilities is what a runtime can do. A session keeps those it was opened with.
type Capabilities struct {
	Streaming bool `json:"streaming"`
	Resume    bool `json:"resume"`
	// Reconstruct says that a lost conversation can be restarted with its earlier messages (StartTurn.History).
	Reconstruct     bool `json:"reconstruct"`
	Steer           bool `json:"steer"`
	Interrupt       bool `json:"interrupt"`
	Approvals       bool `json:"approvals"`
	ToolInput       bool `json:"toolInput"`
	DynamicTools    bool `json:"dynamicTools"`
	ListThreads     bool `json:"listThreads"`
	SurvivesRestart bool `json:"survivesRestart"`
	// Archive and Rollback say that the runtime itself archives conversations and removes turns.
	Archive  bool `json:"archive"`
	Rollback bool `json:"rollback"`
	// Fork, Compact and Review say that the runtime can fork a conversation, shorten its context, and review changes.
	Fork    bool `json:"fork"`
	Compact bool `json:"compact"`
	Review  bool `json:"review"`
	// Images says that a message may carry images.
	Images bool `json:"images"`
	// DenyReason says that the model receives the reason of a refusal at once; otherwise the next message carries it
	// (StartTurn.Aside). ApproveForSession says that an approval can hold for the whole session.
	DenyReason        bool `json:"denyReason"`
	ApproveForSession bool `json:"approveForSession"`
	// Plan and Usage say that the runtime reports its plan and its token usage.
	Plan  bool `json:"plan"`
	Usage bool `json:"usage"`
	// Subagents says that it may delegate work to agents of its own, SelfStartedTurns that it may begin turns without a
	// request.
	Subagents        bool `json:"subagents"`
	SelfStartedTurns bool `json:"selfStartedTurns"`
	// ParallelToolCalls says that it may run, and ask about, several tools at a time.
	ParallelToolCalls bool `json:"parallelToolCalls"`
	// NativeToolsOff says that its built-in tools can be disabled. OwnedTools is how it reaches the tools of this
	// server.
	NativeToolsOff bool   `json:"nativeToolsOff"`
	OwnedTools     string `json:"ownedTools"`
	// ProcessPer is ProcessPerRuntime or ProcessPerThread.
	ProcessPer string `json:"processPer"`
	// Sandboxes, ApprovalPolicies and NetworkAccess are the levels the runtime enforces; others are refused before a
	// session is opened or changed (*ControlError).
	Sandboxes        []string `json:"sandboxes"`
	ApprovalPolicies []string `json:"approvalPolicies"`
	NetworkAccess    []string `json:"networkAccess"`
	// KeepsFullAccessPair says that danger-full-access is accepted with a restricted network, although nothing restricts
	// it then. Clients of codex-manager send this pair.
	KeepsFullAccessPair bool `json:"-"`
	// ImplicitSources are the levels that limit what the agent reads on its own (ImplicitAll, ...), its default first.
	// Empty if unknown.
	ImplicitSources []string `json:"implicitSources"`
	// AutoApproved lists the agent's own tools, in its names, that run without approval under the policy untrusted.
	AutoApproved []string `json:"unasked"`
	// Facts are shown by the task API alone.
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

// MaxToolCalls is how many calls of tools of this server may be open at a time in a conversation.
func (c Capabilities) MaxToolCalls() int {
	if c.ParallelToolCalls {
		return 8
	}
	return 1
}

// CapabilitiesOf combines an adapter's Capabilities with what its optional interfaces show. All callers use it.
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

// CheckControls refuses levels the named runtime does not enforce with a *ControlError. An empty level is the runtime's
// own default.
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
