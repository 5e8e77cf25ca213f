package main

import (
	"os"

	"github.com/spf13/cobra"

	"harness/internal/runtime/opencode/bridge"
	"harness/server"
)

// newBridge starts OpenCode and translates its API to lines. Only servers and shims start it.
func newBridge() *cobra.Command {
	return &cobra.Command{
		Use:    server.BridgeCommand + " OPENCODE",
		Short:  "Start OpenCode and talk HTTP with it (started by serve)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			endsItself(cmd.Context())
			return bridge.Run(cmd.Context(), args[0], os.Stdin, os.Stdout, os.Stderr)
		},
	}
}
