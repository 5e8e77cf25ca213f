// Package wire is the canonical vocabulary of the server: the notifications, requests and items that every client
// knows. They are those of codex app-server v2 and the server's own additions.
//
// Only this package has their names, the properties of a name (the focused frame of a notification, who gets it, what
// replaces it, the subject of a request), and their shapes, as readers and builders. codex uses this vocabulary
// itself; other adapters translate into it. The package must never know the source of a line, what is stored, or the
// recipient.
package wire

import (
	"strings"

	"harness/internal/runtime"
)

// Origin is the runtime with this vocabulary as its own. Its output keeps the form that clients have always had. The
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

// Requests with a required answer.
const (
	MethodApproveCommand     = "item/commandExecution/requestApproval"
	MethodApproveFileChange  = "item/fileChange/requestApproval"
	MethodApprovePermissions = "item/permissions/requestApproval"
	MethodAskUser            = "item/tool/requestUserInput"
	MethodCallTool           = "item/tool/call"
	MethodElicit             = "mcpServer/elicitation/request"
	// MethodApproveTool is an addition of this server: an approval of a tool that is neither a command nor a file
	// change.
	MethodApproveTool = "item/tool/requestApproval"
)

// Method has the properties of a method's name.
type Method struct {
	// Alias is the type of a notification's additional focused frame, "" for none. Broadcast sends it to every
	// reader.
	Alias     string
	Broadcast bool
	// Replaceable means that a later notification of the kind, or the completed item, has the same content.
	Replaceable bool
	// Asks is the kind of answer that a request needs, Subject its subject. They are "" for a notification, and for
	// requests that a user cannot answer.
	Asks    runtime.RequestKind
	Subject runtime.Subject

	text text
}

// text describes a notification that appends to a text of an item. It has the place of the text in the completed item
// (runtime.TextDelta.Into, set even if there is no place), and the member that distinguishes the texts of an item.
// outlives: more may follow after the turn's end.
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

// Lookup returns the properties of a method. An unknown name shows only its kind: a delta of an item is replaceable.
func Lookup(method string) Method {
	known, ok := methods[method]
	if !ok && strings.HasPrefix(method, "item/") {
		known.Replaceable = strings.HasSuffix(method, "/delta") || strings.HasSuffix(method, "Delta")
	}
	return known
}
