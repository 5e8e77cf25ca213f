package runtime

import "slices"

// Capabilities is what a runtime can do. A session keeps those it was opened with.
type Capabilities struct {
	Streaming bool `json:"streaming"`
	Resume    bool `json:"resume"`
	// Reconstruct says that a conversation which the runtime has lost can be begun anew with what was said before
	// (StartTurn.History).
	Reconstruct     bool `json:"reconstruct"`
	Steer           bool `json:"steer"`
	Interrupt       bool `json:"interrupt"`
	Approvals       bool `json:"approvals"`
	ToolInput       bool `json:"toolInput"`
	DynamicTools    bool `json:"dynamicTools"`
	ListThreads     bool `json:"listThreads"`
	SurvivesRestart bool `json:"survivesRestart"`
	// Archive and Rollback say that the runtime itself puts conversations away and takes turns back.
	Archive  bool `json:"archive"`
	Rollback bool `json:"rollback"`
	// Fork, Compact and Review say that it can continue a conversation in a second one, shorten what it remembers, and
	// review changes.
	Fork    bool `json:"fork"`
	Compact bool `json:"compact"`
	Review  bool `json:"review"`
	// Images says that a message may carry images.
	Images bool `json:"images"`
	// DenyReason says that the reason of a refusal reaches the model at once; of others it does with the next message
	// (StartTurn.Aside). ApproveForSession says that an approval can hold for the whole session.
	DenyReason        bool `json:"denyReason"`
	ApproveForSession bool `json:"approveForSession"`
	// Plan and Usage say that the runtime reports its plan and the tokens it used.
	Plan  bool `json:"plan"`
	Usage bool `json:"usage"`
	// Subagents says that it may hand work on to agents of its own, SelfStartedTurns that it may begin turns
	// without a request.
	Subagents        bool `json:"subagents"`
	SelfStartedTurns bool `json:"selfStartedTurns"`
	// ParallelToolCalls says that it may run, and ask about, several tools at once.
	ParallelToolCalls bool `json:"parallelToolCalls"`
	// NativeToolsOff says that its built-in tools can be taken away; OwnedTools is how it reaches tools of ours.
	NativeToolsOff bool   `json:"nativeToolsOff"`
	OwnedTools     string `json:"ownedTools"`
	// ProcessPer is ProcessPerRuntime or ProcessPerThread.
	ProcessPer string `json:"processPer"`
	// Sandboxes, ApprovalPolicies and NetworkAccess are the levels the runtime enforces; others are refused before a
	// session is opened or changed (*ControlError).
	Sandboxes        []string `json:"sandboxes"`
	ApprovalPolicies []string `json:"approvalPolicies"`
	NetworkAccess    []string `json:"networkAccess"`
	// KeepsFullAccessPair says that danger-full-access with a restricted network is taken as it is sent, although nothing
	// restricts the network then: clients of codex-manager send it.
	KeepsFullAccessPair bool `json:"-"`
	// ImplicitSources are the levels to which the agent can be limited in what it reads by itself (ImplicitAll,
	// ...), its default first; none where that is unknown.
	ImplicitSources []string `json:"implicitSources"`
	// AutoApproved is what of the agent's own runs without a question under the approval policy untrusted, in its own names.
	AutoApproved []string `json:"unasked"`
	// Facts are shown by the task API alone.
	Facts Facts `json:"-"`
}

// Values of Capabilities.ProcessPer: one process for all conversations of a runtime, or one for each.
const (
	ProcessPerRuntime = "runtime"
	ProcessPerThread  = "thread"
)

// Values of Capabilities.OwnedTools: not at all, as tools a client declares when it opens a session, from an MCP server
// over HTTP, or over the channel the runtime is controlled by.
const (
	OwnedNone    = "none"
	OwnedDynamic = "dynamic"
	OwnedMCP     = "mcp-http"
	OwnedControl = "control-channel"
)

// MaxToolCalls is how many calls of tools of this server may be open at once in a conversation.
func (c Capabilities) MaxToolCalls() int {
	if c.ParallelToolCalls {
		return 8
	}
	return 1
}

// CapabilitiesOf is what an adapter says it can do, together with what its methods show. All callers use this:
// an adapter's own Capabilities do not include what a method shows.
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
