package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode"
	"harness/internal/runtime/opencode/bridge"
)

// bridgeCommand is the process beside OpenCode: the program's own subcommand.
const bridgeCommand = "opencode-bridge"

// newBridge starts OpenCode and speaks lines for it. Only servers and shims start it.
func newBridge() *cobra.Command {
	return &cobra.Command{
		Use:    bridgeCommand + " OPENCODE",
		Short:  "Start OpenCode and talk HTTP with it (started by serve)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			endsItself(cmd.Context())
			return bridge.Run(cmd.Context(), args[0], os.Stdin, os.Stdout, os.Stderr)
		},
	}
}

func newOpenCode(s *Server, confined confinement) (runtime.Adapter, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program to start OpenCode with: %w", err)
	}
	setup, err := s.setupWithHome(opencode.Name, confined)
	if err != nil {
		return nil, err
	}
	return opencode.New(opencode.Options{Setup: setup, Bin: s.cfg.OpenCodeBin, Bridge: []string{own, bridgeCommand},
		Dir: sessionFolder(s.cfg, s.workspace)}), nil
}
