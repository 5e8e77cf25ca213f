package config

import "strings"

func rpcVariables() []Variable {
	return grouped("JSON-RPC", []Variable{
		{Name: "HARNESS_RPC_PATHS", Default: "/rpc,/ws", check: isRPCPath, Allowed: "a comma-separated list of /rpc and /ws",
			Doc:   "Where JSON-RPC 2.0 is spoken over a websocket. /ws is what cdev's clients know; POST goes to /rpc.",
			field: func(c *Config) any { return &c.RPC.Paths }},
		{Name: "HARNESS_RPC_STRICT", Default: "false",
			Doc:   "Refuse other methods on a socket before initialize.",
			field: func(c *Config) any { return &c.RPC.Strict }},
	})
}

func isRPCPath(s string) bool { return s == "/rpc" || s == "/ws" }

func isRuntimeStatus(s string) bool {
	whose, status, found := strings.Cut(s, "=")
	return found && whose != "" && contains([]string{"active", "preview", "deprecated", "disabled"}, status)
}

// RuntimeStatuses are the operator's words on runtimes, by name; the last one counts.
func (c *Config) RuntimeStatuses() map[string]string {
	said := map[string]string{}
	for _, entry := range c.RuntimeStatus {
		whose, status, _ := strings.Cut(entry, "=")
		said[whose] = status
	}
	return said
}
