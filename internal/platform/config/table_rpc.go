package config

import "strings"

func rpcVariables() []Variable {
	return grouped("JSON-RPC", []Variable{
		{Name: "HARNESS_RPC_STRICT", Default: "false",
			Doc:   "Refuse other methods on a socket before initialize.",
			field: func(c *Config) any { return &c.RPC.Strict }},
	})
}

func isRuntimeStatus(s string) bool {
	whose, status, found := strings.Cut(s, "=")
	return found && whose != "" && contains([]string{"active", "preview", "deprecated", "disabled"}, status)
}

// RuntimeStatuses returns the operator's status texts for runtimes, by name; the last entry of a name counts.
func (c *Config) RuntimeStatuses() map[string]string {
	said := map[string]string{}
	for _, entry := range c.RuntimeStatus {
		whose, status, _ := strings.Cut(entry, "=")
		said[whose] = status
	}
	return said
}
