package extensions

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// agentPolicies are the agent.config.json files below the extension roots, by agent: the folder's name, as in
// codex-manager, and the agentId of its manifest. They are read even when the extension does not load, because a job
// of a broken extension must not get more rights than its file grants. The error under "" concerns agents that no
// file names.
type agentPolicies map[string]agentPolicy

// readAgentPolicies searches the roots.
func readAgentPolicies(roots []Root, runtimes []string) agentPolicies {
	policies := agentPolicies{}
	seen := map[string]bool{}
	for _, root := range roots {
		folders, err := policyFolders(root.Path)
		if err != nil {
			policies.refuse("", fmt.Errorf("extension root %s: %w", root.Path, err))
		}
		for _, folder := range folders {
			if seen[folder] {
				continue
			}
			seen[folder] = true
			policy := readAgentConfig(folder, runtimes)
			if policy == nil {
				continue
			}
			policy.folder = folder
			names := []string{filepath.Base(folder)}
			switch manifest, _, err := readManifest(folder); {
			case err != nil:
				policies.refuse("", fmt.Errorf("cannot read the agent of %s: %w", filepath.Join(folder, agentConfigFile),
					err))
			case manifest != nil && manifest.AgentID != names[0]:
				names = append(names, manifest.AgentID)
			}
			for _, name := range names {
				policies.add(name, *policy)
			}
		}
	}
	return policies
}

// policyFolders returns a root and the folders in it, by their real paths; none for a root that does not exist.
func policyFolders(root string) ([]string, error) {
	real, err := realPath(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(real)
	folders := []string{real}
	for _, entry := range entries {
		path := filepath.Join(real, entry.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			folders = append(folders, path)
		}
	}
	return folders, err
}

func (p agentPolicies) refuse(agent string, err error) {
	p[agent] = agentPolicy{err: errors.Join(p[agent].err, err)}
}

// add records a file for an agent. Two files for one agent are ambiguous.
func (p agentPolicies) add(agent string, policy agentPolicy) {
	other, taken := p[agent]
	switch {
	case !taken:
		p[agent] = policy
	case other.folder != "" && other.folder != policy.folder:
		p.refuse(agent, fmt.Errorf("%s and %s are both about agent %q; remove one of them",
			filepath.Join(other.folder, agentConfigFile), filepath.Join(policy.folder, agentConfigFile), agent))
	}
}

// problems returns the errors of refused agents, each once, sorted by the agents' names.
func (p agentPolicies) problems() []error {
	var found []error
	for _, agent := range slices.Sorted(maps.Keys(p)) {
		err := p[agent].err
		if err != nil && !slices.ContainsFunc(found, func(other error) bool { return other.Error() == err.Error() }) {
			found = append(found, err)
		}
	}
	return found
}

// AgentConfigProblems returns the errors of the agent.config.json files below roots. Each error disables the workers of
// an agent.
func AgentConfigProblems(roots []Root, runtimes []string) []error {
	return readAgentPolicies(roots, runtimes).problems()
}

// AgentConfig returns the configuration of an agent's workers as read when the extensions were loaded; the zero
// AgentConfig without a file. An error means that the file is invalid, and no worker of the agent may run.
func (r *Registry) AgentConfig(agent string) (AgentConfig, error) {
	policies := r.active.Load().agents
	policy, found := policies[agent]
	if !found {
		policy = policies[""]
	}
	return policy.config, policy.err
}
