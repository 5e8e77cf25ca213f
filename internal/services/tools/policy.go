package tools

import (
	"fmt"
	"slices"
)

// Result is an opinion on a call, or its decision.
type Result string

// The results. Deny is stricter than Ask, and Ask is stricter than Allow.
const (
	Allow Result = "allow"
	Deny  Result = "deny"
	Ask   Result = "ask"
)

// Mode defines which calls run without a person's approval.
type Mode string

// The modes of permission.
const (
	// ModeAsk: every call needs approval.
	ModeAsk Mode = "ask"
	// ModeAuto: read-only calls run, others need approval; unknown tools are denied.
	ModeAuto Mode = "auto"
	// ModeYolo: everything runs.
	ModeYolo Mode = "yolo"
)

// The parties with an opinion on a call.
const (
	SourceRuntime = "runtime"
	SourceHarness = "harness"
	SourceUser    = "user"
)

// Opinion is one party's opinion on a call, with its rule.
type Opinion struct {
	Source string `json:"source"`
	Result Result `json:"result"`
	Rule   string `json:"rule,omitempty"`
}

// Snapshot is a decision with everything it was based on.
type Snapshot struct {
	Mode     Mode      `json:"permission_mode"`
	Decision Result    `json:"decision"`
	Sources  []Opinion `json:"sources"`
}

// Overrides are rules for single tools and classes. They precede the mode, a denial precedes a permission, and a rule
// for a tool precedes one for its class.
type Overrides struct {
	DenyTools, AllowTools     []string
	DenyClasses, AllowClasses []Class
}

// Policy decides whether a call may run. The zero value asks about everything.
type Policy struct {
	Mode Mode
	Overrides
	// NonInteractive means that no person can be asked: calls that need approval are denied.
	NonInteractive bool
}

// Levels are the permissions of a session.
type Levels struct {
	ApprovalPolicy, FilesystemSandbox, NetworkAccess string
	NonInteractive                                   bool
}

// Within restricts a policy to the permissions of a session. No call needs approval if the session's policy never asks.
// Every call needs approval if the session trusts nothing. A tool may not do anything that the session's sandbox forbids.
func (p Policy) Within(session Levels) Policy {
	p.DenyClasses = slices.Clone(p.DenyClasses)
	switch {
	case session.ApprovalPolicy == "never", session.NonInteractive:
		p.NonInteractive = true
	case session.ApprovalPolicy == "untrusted":
		p.Mode = ModeAsk
	}
	if session.FilesystemSandbox == "read-only" {
		p.DenyClasses = append(p.DenyClasses, Write, Dangerous)
	}
	if session.NetworkAccess != "enabled" {
		p.DenyClasses = append(p.DenyClasses, Network)
	}
	return p
}

// CheckPolicy refuses unknown modes and classes, and the mode yolo unless the operator allows it.
func CheckPolicy(p Policy, allowYolo bool) error {
	switch {
	case p.Mode == ModeYolo && !allowYolo:
		return fmt.Errorf("permission mode %q runs everything unasked; the operator allows it with HARNESS_ALLOW_YOLO=true",
			ModeYolo)
	case p.Mode != "" && !slices.Contains([]Mode{ModeAsk, ModeAuto, ModeYolo}, p.Mode):
		return fmt.Errorf("permission mode %q is unknown; there are ask, auto and yolo", p.Mode)
	}
	for _, class := range slices.Concat(p.DenyClasses, p.AllowClasses) {
		if !slices.Contains(Classes(), class) {
			return fmt.Errorf("class %q is unknown; there are %v", class, Classes())
		}
	}
	return nil
}

// Evaluate returns this server's opinion on a call of a tool; class is "" for a tool of unknown class.
func (p Policy) Evaluate(tool string, class Class) Opinion {
	opinion := func(result Result, rule string) Opinion { return Opinion{SourceHarness, result, rule} }
	mode := p.mode()
	switch {
	case slices.Contains(p.DenyTools, tool):
		return opinion(Deny, "override:deny_tool")
	case slices.Contains(p.DenyClasses, class):
		return opinion(Deny, "override:deny_permission")
	case slices.Contains(p.AllowTools, tool):
		return opinion(Allow, "override:allow_tool")
	case slices.Contains(p.AllowClasses, class):
		return opinion(Allow, "override:allow_permission")
	case mode == ModeYolo, mode == ModeAuto && class == ReadOnly:
		return opinion(Allow, "permission_mode:"+string(mode))
	case mode == ModeAuto && class == "":
		return opinion(Deny, "permission_mode:unknown_tool")
	}
	return opinion(Ask, "permission_mode:"+string(mode))
}

func (p Policy) mode() Mode {
	if p.Mode == "" {
		return ModeAsk
	}
	return p.Mode
}

// Settle combines opinions into a decision: the strictest counts, but a person's answer replaces the opinions Ask of
// others. In NonInteractive mode, a remaining Ask becomes a denial.
func (p Policy) Settle(opinions ...Opinion) Snapshot {
	s := Snapshot{Mode: p.mode(), Decision: Allow, Sources: slices.Clone(opinions)}
	answer := Ask
	for _, one := range opinions {
		switch {
		case one.Result == Deny:
			s.Decision = Deny
		case one.Source == SourceUser:
			answer = one.Result
		case one.Result == Ask && s.Decision == Allow:
			s.Decision = Ask
		}
	}
	if s.Decision == Ask {
		s.Decision = answer
	}
	if s.Decision == Ask && p.NonInteractive {
		s.Decision = Deny
	}
	return s
}

// Reason explains why a call was not simply allowed; "" if it was.
func (s Snapshot) Reason() string {
	if s.Decision == Allow {
		return ""
	}
	for _, one := range s.Sources {
		if one.Result == Deny {
			return "denied by policy: " + one.Rule
		}
	}
	return "approval required"
}
