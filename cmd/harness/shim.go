package main

import (
	"os"

	"github.com/spf13/cobra"

	"harness/internal/runtime/process/shim"
)

// readyDescriptor is the pipe a server gives its shim, which reports that the runtime runs.
const readyDescriptor = 3

// shimCommand is the command as which this program is a shim.
const shimCommand = "shim"

// newShim is the program's other half: a small process that keeps one runtime alive while servers come and go. Only
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
