// Package wire is the canonical vocabulary of the server: the notifications, requests and items every client knows,
// which are those of codex app-server v2, and our own additions.
//
// It is the one place where their names stand, what follows from a name (the focused frame of a notification, who gets
// it, what outdates it, what a request is about), and their shapes, as readers and builders. codex says its lines in
// these words; other adapters translate into them. It must never know where a line came from, what is stored, or who it
// is shown to.
package wire

import (
	"strings"

	"harness/internal/runtime"
)

// Origin is the runtime whose own vocabulary this is. Its output keeps the form that clients have always known. The
// output of another runtime also has that runtime's name.
const Origin = "codex"

// Notifications.
const (
	MethodThreadStarted    = "thread/started"
	MethodThreadNamed      = "thread/name/updated"
	MethodTokenUsage       = "thread/tokenUsage/updated"
	MethodTurnStarted      = "turn/started"
	MethodTurnCompleted    = "turn/completed"
	MethodTurnPlan         = "turn/plan/updated"
	MethodTurnDiff         = "turn/diff/updated"
	MethodItemStarted      = "item/started"
	MethodItemCompleted    = "item/completed"
	MethodMessageDelta     = "item/agentMessage/delta"
	MethodPlanDelta        = "item/plan/delta"
	MethodReasoningDelta   = "item/reasoning/textDelta"
	MethodSummaryDelta     = "item/reasoning/summaryTextDelta"
	MethodCommandOutput    = "item/commandExecution/outputDelta"
	MethodFileChangeOutput = "item/fileChange/outputDelta"
	MethodRequestResolved  = "serverRequest/resolved"
	MethodModelRerouted    = "model/rerouted"
	MethodError            = "error"
	MethodWarning          = "warning"
	MethodAppList          = "app/list/updated"
	MethodMCPLogin         = "mcpServer/oauthLogin/completed"
	MethodAccount          = "account/updated"
	MethodAccountLogin     = "account/login/completed"
	MethodRateLimits       = "account/rateLimits/updated"
)

// Requests that wait for an answer.
const (
	MethodApproveCommand     = "item/commandExecution/requestApproval"
	MethodApproveFileChange  = "item/fileChange/requestApproval"
	MethodApprovePermissions = "item/permissions/requestApproval"
	MethodAskUser            = "item/tool/requestUserInput"
	MethodCallTool           = "item/tool/call"
	MethodElicit             = "mcpServer/elicitation/request"
	// MethodApproveTool is ours: an approval of a tool that is neither a command nor a file change.
	MethodApproveTool = "item/tool/requestApproval"
)

// Method is what follows from a method's name.
type Method struct {
	// Alias is the type of a notification's additional focused frame, "" for none. Broadcast says that every reader gets
	// it.
	Alias     string
	Broadcast bool
	// Replaceable says that a later notification of the kind, or the completed item, has the same content.
	Replaceable bool
	// Asks is what a request waits for, Subject its subject; "" for a notification and for requests that a person cannot
	// answer.
	Asks    runtime.RequestKind
	Subject runtime.Subject

	text text
}

// text describes a notification that appends to a text of an item: the place of the text in the completed item
// (runtime.TextDelta.Into, known even if that is nowhere), and the member that separates the texts of an item. outlives:
// more may come after the turn's end.
type text struct {
	known, outlives bool
	into, index     string
}

var methods = map[string]Method{
	MethodTokenUsage:   {Alias: "thread_token_usage_updated", Replaceable: true},
	MethodTurnPlan:     {Alias: "turn_plan_updated", Replaceable: true},
	MethodTurnDiff:     {Alias: "turn_diff_updated", Replaceable: true},
	MethodAppList:      {Alias: "app_list_updated", Broadcast: true},
	MethodMCPLogin:     {Alias: "mcp_oauth_completed", Broadcast: true},
	MethodAccount:      {Alias: "account_updated", Broadcast: true},
	MethodAccountLogin: {Alias: "account_login_completed", Broadcast: true},
	MethodRateLimits:   {Alias: "account_rate_limits_updated", Broadcast: true},

	MethodMessageDelta: {Replaceable: true, text: text{known: true, into: runtime.TextContent}},
	MethodPlanDelta:    {Replaceable: true, text: text{known: true, into: runtime.TextContent}},
	MethodReasoningDelta: {Replaceable: true, text: text{known: true, into: runtime.TextDetails + "content",
		index: "contentIndex"}},
	MethodSummaryDelta: {Replaceable: true, text: text{known: true, into: runtime.TextDetails + "summary",
		index: "summaryIndex"}},
	// A command continues in the background after its turn.
	MethodCommandOutput: {Replaceable: true,
		text: text{known: true, outlives: true, into: runtime.TextDetails + "aggregatedOutput"}},
	MethodFileChangeOutput: {Replaceable: true, text: text{known: true}},

	MethodApproveCommand:     {Asks: runtime.RequestApproval, Subject: runtime.SubjectCommand},
	MethodApproveFileChange:  {Asks: runtime.RequestApproval, Subject: runtime.SubjectFileChange},
	MethodApprovePermissions: {Asks: runtime.RequestApproval, Subject: runtime.SubjectPermissions},
	MethodApproveTool:        {Asks: runtime.RequestApproval, Subject: runtime.SubjectTool},
	MethodAskUser:            {Asks: runtime.RequestToolInput, Subject: runtime.SubjectQuestion},
	MethodElicit:             {Asks: runtime.RequestToolInput, Subject: runtime.SubjectForm},
	MethodCallTool:           {Asks: runtime.RequestToolCall, Subject: runtime.SubjectTool},
}

// Lookup is what follows from a method's name. An unknown name shows only its kind: a delta of an item is replaceable.
func Lookup(method string) Method {
	known, ok := methods[method]
	if !ok && strings.HasPrefix(method, "item/") {
		known.Replaceable = strings.HasSuffix(method, "/delta") || strings.HasSuffix(method, "Delta")
	}
	return known
}
