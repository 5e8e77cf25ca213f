package claude

import (
	"encoding/json"
	"slices"
)

// askReason is the reason of an approval for Claude Code; it is not displayed.
const askReason = "the approval policy of this session asks"

// readers returns the tools that change nothing outside the agent. The hook also runs for the tools they start.
func readers() []string {
	return []string{
		"Read", "Glob", "Grep", "LS", "NotebookRead", "ToolSearch", "ListAgents", "TaskGet", "TaskList", "TaskOutput",
		"BashOutput", toolQuestion, toolPlan, toolTodo, toolNewTask, toolTask, "TaskStop", "KillShell", "EnterPlanMode",
		"ReportFindings", "Agent", "Task", "SendMessage", "Skill",
	}
}

// online returns the tools that use the network themselves.
func online() []string { return []string{"WebFetch", "WebSearch"} }

// decision is the hook's answer for a tool use; the zero decision leaves it to Claude Code's own rules.
type decision struct {
	// Permission is allow, ask or deny.
	Permission, Reason string
}

// writesTree reports whether a sub-agent gets a separate working tree, which Claude Code writes.
func writesTree(input json.RawMessage) bool {
	var agent struct {
		Isolation string `json:"isolation"`
	}
	_ = json.Unmarshal(input, &agent) // arguments of other tools have none
	return agent.Isolation != ""
}

// decide implements the policy of a session. It runs for every tool use, including those of sub-agents.
func (c controls) decide(s *state, tool string, input json.RawMessage) decision {
	reads, fetches := slices.Contains(readers(), tool) && !writesTree(input), slices.Contains(online(), tool)
	if c.Sandbox != fullAccess && c.Sandbox != workspaceWrite && !reads && (!fetches || c.Network != enabled) {
		return decision{"deny", "This session is read-only: " + tool + " may not be used. Say what you would do instead."}
	}
	switch {
	case c.Approval == never:
		if fetches && c.Network != enabled {
			return decision{"deny", "This session has no network access: " + tool + " may not be used."}
		}
		return decision{} // its mode decides, without an approval
	case s.permits(tool, input):
		return decision{"allow", "allowed for the session"}
	case fetches && c.Network != enabled, c.Approval != onRequest && c.Approval != onFailure && !reads:
		return decision{"ask", askReason}
	}
	return decision{}
}

// hookAnswer returns the decision in Claude Code's format.
func (d decision) hookAnswer() any {
	type specific struct {
		Event  string `json:"hookEventName"`
		Choice string `json:"permissionDecision"`
		Reason string `json:"permissionDecisionReason"`
	}
	if d == (decision{}) {
		return struct{}{}
	}
	return struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{"PreToolUse", d.Permission, d.Reason}}
}

// settled answers a permission request without a user when the policy allows no approvals; false when a user decides.
func (c controls) settled(s *state, request control) (verdict, bool) {
	switch {
	case request.Tool == toolNetwork && (c.Network == enabled || s.permits(request.Tool, request.Input)):
		return verdict{Behavior: "allow", Input: arguments(request.Input)}, true
	case request.Tool == toolQuestion:
		return verdict{}, false
	case c.Approval == never:
		return denied("This session allows no approvals, and its policy does not allow "+request.Tool+" here.", false), true
	}
	return verdict{}, false
}
