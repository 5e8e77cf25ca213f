package opencode

import (
	"slices"

	"harness/internal/runtime"
)

// rule is one of OpenCode's permissions: the last rule that matches a call counts.
type rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

const (
	allow = "allow"
	deny  = "deny"
	ask   = "ask"

	sandboxReadOnly = "read-only"
	sandboxFull     = "danger-full-access"

	approveUntrusted = "untrusted"
	approveOnRequest = "on-request"
	approveNever     = "never"

	networkRestricted = "restricted"
	networkEnabled    = "enabled"
)

// levels are the permissions of a session.
type levels struct{ sandbox, approval, network string }

// or replaces missing levels by others.
func (l levels) or(others levels) levels {
	pick := func(value, fallback string) string {
		if value == "" {
			return fallback
		}
		return value
	}
	return levels{pick(l.sandbox, others.sandbox), pick(l.approval, others.approval), pick(l.network, others.network)}
}

// closed returns the levels of a session without explicit ones: the narrowest.
func closed() levels { return levels{sandboxReadOnly, approveUntrusted, networkRestricted} }

// readOnlyTools returns the tools that neither change anything nor reach the network.
func readOnlyTools() []string {
	return []string{"read", "glob", "grep", "list", "todowrite", "todoread", "question", "skill"}
}

// rules returns the complete permissions that enforce levels: the first rule resets all earlier ones. It returns
// *runtime.ControlError for levels that OpenCode cannot enforce. served are the rules for this server's MCP servers; bare
// disables OpenCode's own tools.
func (l levels) rules(served []rule, bare bool) ([]rule, error) {
	if l.sandbox == sandboxFull && l.network != networkEnabled {
		// A shell reaches the network under any rules.
		return nil, &runtime.ControlError{Runtime: Name, Field: "networkAccess", Value: l.network,
			Enforced: []string{networkEnabled}}
	}
	if bare {
		return append([]rule{{"*", "*", deny}}, served...), nil
	}
	rest := ask
	switch {
	case l.sandbox == sandboxReadOnly:
		// an allow list: it hides tools of plug-ins and MCP servers, sub-agents and the shell from the model
		rest = deny
	case l.approval == approveNever:
		rest = allow
	}
	out := []rule{{"*", "*", rest}}
	for _, tool := range readOnlyTools() {
		out = append(out, rule{tool, "*", allow})
	}
	if l.sandbox == sandboxFull && l.approval == approveOnRequest {
		out = append(out, rule{"edit", "*", allow}) // inside the folder; the rest needs approval as external_directory
	}
	if l.sandbox == sandboxReadOnly && l.network == networkEnabled {
		web := ask
		if l.approval == approveNever {
			web = allow
		}
		out = append(out, rule{"webfetch", "*", web}, rule{"websearch", "*", web})
	}
	return append(out, served...), nil
}

// inForce reports whether permissions match rules, besides later approvals for the session.
func inForce(permissions, rules []rule) bool {
	if len(rules) == 0 {
		return false
	}
	last := -1
	for i, one := range permissions {
		if one.Permission == "*" && one.Pattern == "*" {
			last = i
		}
	}
	return last >= 0 && len(permissions)-last >= len(rules) && slices.Equal(permissions[last:last+len(rules)], rules)
}
