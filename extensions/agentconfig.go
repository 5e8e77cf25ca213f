package extensions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// agentConfigFile configures the workers of an extension's agent.
const agentConfigFile = "agent.config.json"

// TurnPolicy is the permissions of a worker's turn. Empty fields follow the server's DEFAULT_* settings; an empty
// Effort is the model's default.
type TurnPolicy struct {
	FilesystemSandbox, NetworkAccess, ApprovalPolicy, Effort string
}

// over replaces fields of base with those that p sets.
func (p TurnPolicy) over(base TurnPolicy) TurnPolicy {
	return TurnPolicy{cmp.Or(p.FilesystemSandbox, base.FilesystemSandbox), cmp.Or(p.NetworkAccess, base.NetworkAccess),
		cmp.Or(p.ApprovalPolicy, base.ApprovalPolicy), cmp.Or(p.Effort, base.Effort)}
}

// AgentConfig is an agent.config.json, which configures the hidden worker sessions of an extension's agent. The zero
// value means no file.
type AgentConfig struct {
	// Runtime and Model default to the server's when "".
	Runtime, Model string
	// Start is the policy of a new worker session, Prepare the policy of its orientation and bootstrap instructions,
	// Instruct the policy of a job.
	Start, Prepare, Instruct TurnPolicy
	// Orientation is the first prompt of a worker; "" means the server's built-in text.
	Orientation string
	// TurnTimeout bounds a turn; 0 means ORCHESTRATOR_AGENT_TURN_TIMEOUT_MS.
	TurnTimeout time.Duration
}

// OverDefaults fills what the file leaves out with the server's default runtime and permissions. A file that grants
// all files grants the network too, unless it restricts the network.
func (c AgentConfig) OverDefaults(runtime string, defaults TurnPolicy) AgentConfig {
	c.Runtime = cmp.Or(c.Runtime, runtime)
	for _, p := range []*TurnPolicy{&c.Start, &c.Prepare, &c.Instruct} {
		if cmp.Or(p.FilesystemSandbox, defaults.FilesystemSandbox) == "danger-full-access" {
			p.NetworkAccess = cmp.Or(p.NetworkAccess, "enabled")
		}
		*p = p.over(defaults)
	}
	return c
}

// maxTurnTimeout limits turnTimeoutMs: a worker that hangs must not block its owner's queue for a day.
const maxTurnTimeout = time.Hour

// agentPolicy is the configuration of an agent's workers. If err is set, they do not run.
type agentPolicy struct {
	config AgentConfig
	err    error
	folder string
}

// readAgentConfig reads the file of an extension's folder; nil without a file. An invalid value is an error and never
// becomes a default: a misspelled sandbox must not become a wider one. runtimes are the server's runtimes.
func readAgentConfig(root string, runtimes []string) *agentPolicy {
	file := filepath.Join(root, agentConfigFile)
	raw, err := readSmall(file, os.Lstat)
	if raw == nil && err == nil {
		return nil
	}
	var config AgentConfig
	if err == nil {
		config, err = parseAgentConfig(raw, runtimes)
	}
	if err != nil {
		return &agentPolicy{err: fmt.Errorf("%s: %w", file, err)}
	}
	return &agentPolicy{config: config}
}

// parseAgentConfig reads one of two shapes: codex-manager's (turnPolicy and its refinements), or this server's, which
// has the members of one policy at the top. Both shapes in one file would be ambiguous.
func parseAgentConfig(raw []byte, runtimes []string) (AgentConfig, error) {
	top, err := objectMembers(raw)
	if err != nil {
		return AgentConfig{}, err
	}
	var (
		config                         AgentConfig
		turn, prepare, instruct, start TurnPolicy

		policy = []string{"sandbox", "networkAccess", "approvalPolicy", "effort"}
		nested = given(top, "turnPolicy", "orientationTurnPolicy", "instructionTurnPolicy", "threadStartPolicy")
		flat   = given(top, append(policy, "orientation", "turnTimeoutMs")...)
		p      = policyReader{unread: top}
	)
	if nested != nil && flat != nil {
		return AgentConfig{}, fmt.Errorf("%s belong to one shape of this file and %s to another; use one of them",
			strings.Join(nested, ", "), strings.Join(flat, ", "))
	}
	p.text("model", &config.Model, nil)
	p.text("runtime", &config.Runtime, runtimes)
	if nested != nil {
		p.policy("turnPolicy", &turn, policy)
		p.policy("orientationTurnPolicy", &prepare, policy)
		p.policy("instructionTurnPolicy", &instruct, policy)
		p.policy("threadStartPolicy", &start, []string{"sandbox", "approvalPolicy"})
	} else {
		p.members(&turn, policy)
		p.text("orientation", &config.Orientation, nil)
		config.TurnTimeout = p.timeout("turnTimeoutMs")
	}
	allowed := "model, runtime, turnPolicy, orientationTurnPolicy, instructionTurnPolicy, threadStartPolicy; or model, runtime, sandbox, " +
		"networkAccess, approvalPolicy, effort, orientation, turnTimeoutMs"
	if err := p.done(allowed); err != nil {
		return AgentConfig{}, err
	}
	config.Prepare, config.Instruct = prepare.over(turn), instruct.over(turn)
	config.Start = start.over(config.Instruct)
	return config, nil
}

// given returns the names that are members of the object.
func given(members map[string]json.RawMessage, names ...string) (found []string) {
	for _, name := range names {
		if _, is := members[name]; is {
			found = append(found, name)
		}
	}
	return found
}

// policyReader reads members of an object and collects the errors in them.
type policyReader struct {
	path     string
	unread   map[string]json.RawMessage
	problems []string
}

// text reads a member with a value from known, or any text if known is nil.
func (p *policyReader) text(name string, into *string, known []string) {
	raw, given := p.unread[name]
	if !given {
		return
	}
	delete(p.unread, name)
	var text *string
	switch err := json.Unmarshal(raw, &text); {
	case err != nil || text == nil || strings.TrimSpace(*text) == "":
		wants := "a text that is not blank"
		if known != nil {
			wants = "one of " + strings.Join(known, ", ")
		}
		p.problems = append(p.problems, fmt.Sprintf("%s%s must be %s", p.path, name, wants))
	case known != nil && !slices.Contains(known, *text):
		p.problems = append(p.problems, fmt.Sprintf("%s%s is %q; use %s", p.path, name, *text, strings.Join(known, ", ")))
	default:
		*into = strings.TrimSpace(*text)
	}
}

// members reads the named members of a policy.
func (p *policyReader) members(into *TurnPolicy, names []string) {
	for _, name := range names {
		switch name {
		case "sandbox":
			p.text(name, &into.FilesystemSandbox, []string{"read-only", "workspace-write", "danger-full-access"})
		case "networkAccess":
			p.text(name, &into.NetworkAccess, []string{"restricted", "enabled"})
		case "approvalPolicy":
			p.text(name, &into.ApprovalPolicy, []string{"untrusted", "on-failure", "on-request", "never"})
		case "effort":
			p.text(name, &into.Effort, []string{"none", "minimal", "low", "medium", "high", "xhigh"})
		}
	}
}

// policy reads a member that is an object with the named members.
func (p *policyReader) policy(name string, into *TurnPolicy, names []string) {
	raw, given := p.unread[name]
	if !given {
		return
	}
	delete(p.unread, name)
	unread, err := objectMembers(raw)
	if err != nil {
		p.problems = append(p.problems, fmt.Sprintf("%s: %v", name, err))
		return
	}
	inner := policyReader{path: name + ".", unread: unread}
	inner.members(into, names)
	if err := inner.done(strings.Join(names, ", ")); err != nil {
		p.problems = append(p.problems, err.Error())
	}
}

func (p *policyReader) timeout(name string) time.Duration {
	raw, given := p.unread[name]
	if !given {
		return 0
	}
	delete(p.unread, name)
	var ms int64
	if json.Unmarshal(raw, &ms) != nil || ms < 1000 || ms > maxTurnTimeout.Milliseconds() {
		p.problems = append(p.problems, fmt.Sprintf("%s must be a whole number from 1000 to %d", name,
			maxTurnTimeout.Milliseconds()))
	}
	return time.Duration(ms) * time.Millisecond
}

// done reports every error found, including unknown members.
func (p *policyReader) done(allowed string) error {
	for name := range p.unread {
		p.problems = append(p.problems, fmt.Sprintf("%s%s is unknown; it may have %s", p.path, name, allowed))
	}
	if p.problems == nil {
		return nil
	}
	slices.Sort(p.problems)
	return errors.New(strings.Join(p.problems, "; "))
}

// objectMembers returns the members of a JSON object. A duplicate name is an error, because parsers disagree about it.
func objectMembers(raw []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("it is %w", syntaxProblem(raw, err))
		}
		return nil, errors.New("it is not a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	seen := map[string]bool{}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		text, _ := name.(string)
		if seen[text] {
			return nil, fmt.Errorf("%s is set twice", text)
		}
		seen[text] = true
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
	}
	return members, nil
}
