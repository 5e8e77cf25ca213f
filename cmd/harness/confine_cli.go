package main

import (
	"os"

	"github.com/spf13/cobra"

	"harness/internal/runtime/process/confine"
	"harness/server"
)

// newConfine sets up a program's view of the files and then executes the program. Only servers and shims start it.
func newConfine() *cobra.Command {
	return &cobra.Command{
		Use:                server.ConfineCommand + " PLAN PROGRAM [ARGS...]",
		Short:              "Start a runtime that cannot see the server's files (started by serve)",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return confine.Run(args) },
	}
}

// newTryConfine tests whether that is possible on this machine.
func newTryConfine() *cobra.Command {
	return &cobra.Command{
		Use:    server.TryConfineCommand,
		Short:  "Find out whether files can be hidden from runtimes here (started by serve)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, err := os.Executable()
			if err != nil {
				return err
			}
			return confine.Try(cmd.Context(), []string{own, server.ConfineCommand})
		},
	}
}
