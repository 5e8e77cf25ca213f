package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/internal/services/tools/mcphost"
	"harness/internal/services/tools/sandbox"
	"harness/internal/services/tools/workspace"
	"harness/server"
	"harness/server/datadir"
)

// newMCP offers the tools of a session over standard pipes, for agents that do not speak HTTP.
func newMCP() *cobra.Command {
	var sessionID, address string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Offer the server's tools to an agent over standard input and output (MCP)",
		Long: "Offer the server's tools to an agent over standard input and output (MCP), in the name of a session.\n\n" +
			"It runs beside the server, as its user: what shows the session is signed with the secret in DATA_DIR. Calls are decided about and\n" +
			"recorded as those of the session's own agent.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sessionID == "" {
				return config.Usagef("--session is missing: it is the id of the session in whose name the tools run")
			}
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			secret, err := os.ReadFile(filepath.Join(cfg.DataDir, server.GrantsFile))
			if err != nil {
				return fmt.Errorf("the server of DATA_DIR=%s gives no tools (set HARNESS_TOOLS and start it): %w", cfg.DataDir, err)
			}
			grants, err := mcphost.NewGrants(secret, nil, nil, nil)
			if err != nil {
				return err
			}
			if address == "" {
				address = fmt.Sprintf("http://127.0.0.1:%d", cfg.Port)
			}
			return mcphost.Bridge(cmd.Context(), address+server.MCPPath, grants.Token(sessionID), os.Stdin, os.Stdout)
		},
	}
	cmd.Flags().StringVar(&sessionID, "session", "", "the session's id")
	cmd.Flags().StringVar(&address, "server", "", "the server's URL (default: this machine, PORT)")
	config.AddFlags(cmd.Flags())
	return cmd
}

// newRunTool runs a tool inside a sandbox. Only servers start it.
func newRunTool() *cobra.Command {
	return &cobra.Command{
		Use:    server.RunToolCommand + " [WITHIN]",
		Short:  "Run one tool (started by serve, within a sandbox)",
		Hidden: true,
		Args:   cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			endsItself(cmd.Context())
			var within server.ToolPlace
			if len(args) > 0 {
				if err := json.Unmarshal([]byte(args[0]), &within); err != nil {
					return err
				}
				if err := sandbox.Become(within.User.UID, within.User.GID, within.User.Groups); err != nil {
					return err
				}
			}
			// a job contains its tool's configuration
			all, err := server.AllTools(workspace.Limits{Hidden: within.Hidden, Fixed: within.Fixed}, nil, nil)
			if err != nil {
				return err
			}
			return sandbox.Child(context.WithoutCancel(cmd.Context()), os.Stdin, os.Stdout, all)
		},
	}
}
