package opencode

import (
	"slices"

	"harness/internal/runtime"
)

// rule is one of OpenCode's permissions: of the rules that match a call, the last one counts.
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

// levels are what a session may do.
type levels struct{ sandbox, approval, network string }

// or is levels with what is not said taken from others.
func (l levels) or(others levels) levels {
	pick := func(value, fallback string) string {
		if value == "" {
			return fallback
		}
		return value
	}
	return levels{pick(l.sandbox, others.sandbox), pick(l.approval, others.approval), pick(l.network, others.network)}
}

// closed are the levels of a session whose creator names none: the narrowest.
func closed() levels { return levels{sandboxReadOnly, approveUntrusted, networkRestricted} }

// readOnlyTools are the tools that neither change anything nor reach the network.
func readOnlyTools() []string {
	return []string{"read", "glob", "grep", "list", "todowrite", "todoread", "question", "skill"}
}

// rules are the permissions that enforce levels, all of them: the first one takes back whatever stood before.
// *runtime.ControlError for what OpenCode cannot enforce.
// server is what the conversation knows the tools of this server by, "" for none; bare says that it is to have none of
// OpenCode's own.
func (l levels) rules(server string, bare bool) ([]rule, error) {
	if l.sandbox == sandboxFull && l.network != networkEnabled {
		// A shell reaches the network whatever the rules say.
		return nil, &runtime.ControlError{Runtime: Name, Field: "networkAccess", Value: l.network,
			Enforced: []string{networkEnabled}}
	}
	if bare {
		out := []rule{{"*", "*", deny}}
		if server != "" {
			out = append(out, rule{server + "_*", "*", allow})
		}
		return out, nil
	}
	rest := ask
	switch {
	case l.sandbox == sandboxReadOnly:
		// an allow list: tools of plug-ins and of MCP servers, sub-agents and the shell are not even offered to the model
		rest = deny
	case l.approval == approveNever:
		rest = allow
	}
	out := []rule{{"*", "*", rest}}
	for _, tool := range readOnlyTools() {
		out = append(out, rule{tool, "*", allow})
	}
	if l.sandbox == sandboxFull && l.approval == approveOnRequest {
		out = append(out, rule{"edit", "*", allow}) // inside the folder; what is outside is asked for as external_directory
	}
	if l.sandbox == sandboxReadOnly && l.network == networkEnabled {
		web := ask
		if l.approval == approveNever {
			web = allow
		}
		out = append(out, rule{"webfetch", "*", web}, rule{"websearch", "*", web})
	}
	if server != "" {
		// The tools of this server ask for themselves. All conversations in a folder have the servers of all.
		out = append(out, rule{serverPrefix + "*", "*", deny}, rule{server + "_*", "*", allow})
	}
	return out, nil
}

// inForce reports whether permissions say what rules do, besides what was allowed for the session since.
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
