package tools

import (
	"fmt"
	"slices"
)

// Result is an opinion on a call, or what became of it.
type Result string

// The results. The stricter one of two is Deny before Ask before Allow.
const (
	Allow Result = "allow"
	Deny  Result = "deny"
	Ask   Result = "ask"
)

// Mode is how much runs without a person.
type Mode string

// The modes of permission.
const (
	// ModeAsk: every call asks.
	ModeAsk Mode = "ask"
	// ModeAuto: what only reads runs, all else asks; what is not known is denied.
	ModeAuto Mode = "auto"
	// ModeYolo: everything runs.
	ModeYolo Mode = "yolo"
)

// The parties that have an opinion on a call.
const (
	SourceRuntime = "runtime"
	SourceHarness = "harness"
	SourceUser    = "user"
)

// Opinion is what one party thinks of a call, and by which rule.
type Opinion struct {
	Source string `json:"source"`
	Result Result `json:"result"`
	Rule   string `json:"rule,omitempty"`
}

// Snapshot is a decision with all it was made of.
type Snapshot struct {
	Mode     Mode      `json:"permission_mode"`
	Decision Result    `json:"decision"`
	Sources  []Opinion `json:"sources"`
}

// Overrides are rules for single tools and classes. They go before the mode, and a denial before a permission, one for
// a tool before one for its class.
type Overrides struct {
	DenyTools, AllowTools     []string
	DenyClasses, AllowClasses []Class
}

// Policy decides whether a call may run. The zero value asks about everything.
type Policy struct {
	Mode Mode
	Overrides
	// NonInteractive is set where no person can be asked: what would ask is denied.
	NonInteractive bool
}

// CheckPolicy refuses unknown modes and classes, and the mode yolo without the operator's consent to it.
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

// Evaluate returns this server's opinion of a call of a tool; class is "" for a tool whose class is not known.
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

// Settle makes a decision of opinions: the strictest counts, but a person's answer settles what others would
// have asked. In NonInteractive mode, what is left to ask is denied.
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

// Reason is the text why a call was not simply allowed; "" when it was.
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
