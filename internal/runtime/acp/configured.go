package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ConfiguredPrefix is the prefix of configured runtimes' names.
const ConfiguredPrefix = "acp:"

// configured is an agent of the configuration: its command line, or an object.
type configured struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	// Modes are as in Profile. Families are the runtimes with provider variables that the agent inherits.
	Modes    map[string]string `json:"modes"`
	Families []string          `json:"families"`
	// Reads are the known files that the agent reads without a request, as in Profile.
	Reads []string `json:"reads"`
}

// UnmarshalJSON also accepts a command line and splits it at spaces. A command with a space in an argument is a list.
func (c *configured) UnmarshalJSON(raw []byte) error {
	var words string
	if json.Unmarshal(raw, &words) == nil {
		c.Command = strings.Fields(words)
		return nil
	}
	type plain configured
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	return decoder.Decode((*plain)(c))
}

// Configured returns the profiles of a configuration by name: {"NAME": "COMMAND LINE"} or {"NAME": {"command":
// ["..."], ...}}. "" has none. Its error explains the correct form.
func Configured(text string) ([]Profile, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var agents map[string]configured
	if err := json.Unmarshal([]byte(text), &agents); err != nil {
		return nil, fmt.Errorf(`it is no JSON object of agents (%w); write {"NAME": "COMMAND LINE"}`, err)
	}
	var profiles []Profile
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		agent := agents[name]
		if !regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,31}$`).MatchString(name) {
			return nil, fmt.Errorf("%q is not a valid agent name: use up to 32 lowercase letters, digits, dots, dashes and underscores",
				name)
		}
		if len(agent.Command) == 0 {
			return nil, fmt.Errorf("agent %q has no command line", name)
		}
		profile := Profile{Name: ConfiguredPrefix + name, Command: agent.Command, Modes: agent.Modes,
			Families: agent.Families, Reads: agent.Reads, Forms: true, Preview: true}
		if err := profile.checkModes(); err != nil {
			return nil, fmt.Errorf("agent %q: %w", name, err)
		}
		for _, file := range agent.Reads {
			if !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "$") && !strings.HasPrefix(file, "{") {
				return nil, fmt.Errorf("agent %q: reads has %q; a file is named from the root, from a variable ($HOME/...) or from "+
					"{cwd}, {project} or {above}", name, file)
			}
		}
		for _, variable := range slices.Sorted(maps.Keys(agent.Env)) {
			profile.Env = append(profile.Env, variable+"="+agent.Env[variable])
		}
		profiles = append(profiles, profile)
	}
	return profiles, nil
}

func (p *Profile) checkModes() error {
	if len(p.policies()) < len(p.Modes) || slices.Contains(slices.Collect(maps.Values(p.Modes)), "") {
		return errors.New("modes are the agent's modes by approval policy: untrusted, on-failure, on-request, never")
	}
	return nil
}
