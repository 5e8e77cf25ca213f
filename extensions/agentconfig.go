package extensions

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// agentConfigFile says how the workers of an extension's agent run.
const agentConfigFile = "agent.config.json"

// AgentConfig is an extension's agent.config.json (`codex-manager.md` 5.8): how the hidden worker sessions of its agent run.
type AgentConfig struct {
	Model, FilesystemSandbox, NetworkAccess, ApprovalPolicy, Effort string
	// Orientation is the first thing a worker is told; "" is the server's own text.
	Orientation string
	// TurnTimeout bounds a turn; 0 is ORCHESTRATOR_AGENT_TURN_TIMEOUT_MS.
	TurnTimeout time.Duration
}

// defaultAgentConfig is what a file does not say.
func defaultAgentConfig() AgentConfig {
	return AgentConfig{Model: "gpt-5.3-codex", FilesystemSandbox: "workspace-write", NetworkAccess: "enabled", ApprovalPolicy: "never", Effort: "low"}
}

// maxTurnTimeout bounds turnTimeoutMs: a worker that hangs must not hold its owner's queue for a day.
const maxTurnTimeout = time.Hour

// readAgentConfig reads the file of an extension's folder; nil when there is none. A value it does not know is an error and no default: a
// misspelt sandbox must not become a wider one. diagnostics name unknown members.
func readAgentConfig(root string) (config *AgentConfig, diagnostics []string, err error) {
	raw, err := readSmall(filepath.Join(root, agentConfigFile), os.Lstat)
	if raw == nil || err != nil {
		return nil, nil, err
	}
	config, diagnostics, err = parseAgentConfig(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", agentConfigFile, err)
	}
	return config, diagnostics, nil
}

func parseAgentConfig(raw []byte) (*AgentConfig, []string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, nil, syntaxProblem(raw, err)
		}
		return nil, nil, errors.New("it is no JSON object")
	}
	config := defaultAgentConfig()
	texts := map[string]struct {
		into  *string
		known []string
	}{
		"model":          {&config.Model, nil},
		"sandbox":        {&config.FilesystemSandbox, []string{"read-only", "workspace-write", "danger-full-access"}},
		"networkAccess":  {&config.NetworkAccess, []string{"restricted", "enabled"}},
		"approvalPolicy": {&config.ApprovalPolicy, []string{"never", "untrusted", "on-request"}},
		"effort":         {&config.Effort, []string{"none", "minimal", "low", "medium", "high", "xhigh"}},
		"orientation":    {&config.Orientation, nil},
	}
	var problems, unknown []string
	for name, value := range members {
		field, isText := texts[name]
		switch {
		case isText:
			var text string
			if json.Unmarshal(value, &text) != nil || strings.TrimSpace(text) == "" {
				problems = append(problems, name+" must be a non-empty string")
			} else if field.known != nil && !slices.Contains(field.known, text) {
				problems = append(problems, fmt.Sprintf("%s is %q; use %s", name, text, strings.Join(field.known, ", ")))
			} else {
				*field.into = strings.TrimSpace(text)
			}
		case name == "turnTimeoutMs":
			var ms int64
			if json.Unmarshal(value, &ms) != nil || ms < 1000 || ms > maxTurnTimeout.Milliseconds() {
				problems = append(problems, fmt.Sprintf("turnTimeoutMs must be a whole number from 1000 to %d", maxTurnTimeout.Milliseconds()))
			}
			config.TurnTimeout = time.Duration(ms) * time.Millisecond
		default:
			unknown = append(unknown, agentConfigFile+": "+name+" is unknown and is ignored")
		}
	}
	slices.Sort(problems)
	slices.Sort(unknown)
	if problems != nil {
		return nil, nil, errors.New(strings.Join(problems, "; "))
	}
	return &config, unknown, nil
}

// AgentConfig is how the workers of an agent run; false when no loaded extension of that agentId says so.
func (r *Registry) AgentConfig(agentID string) (AgentConfig, bool) {
	config, found := r.active.Load().agents[agentID]
	return config, found
}
