package main

import (
	"os"

	"github.com/spf13/cobra"

	"harness/internal/runtime/process/shim"
)

// readyDescriptor is the pipe that a server passes to its shim; the shim reports on it that the runtime runs.
const readyDescriptor = 3

// shimCommand is the subcommand that runs this program as a shim.
const shimCommand = "shim"

// newShim makes the shim command: a small process that keeps one runtime alive while servers stop and start. Only
// servers start it.
func newShim() *cobra.Command {
	return &cobra.Command{
		Use:    shimCommand + " DIR",
		Short:  "Keep one runtime process alive (started by serve)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			endsItself(cmd.Context())
			return shim.Run(cmd.Context(), args[0], os.NewFile(readyDescriptor, "ready"))
		},
	}
}
