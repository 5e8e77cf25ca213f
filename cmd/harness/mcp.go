package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"harness/api/mcp"
	"harness/cmd/harness/remote"
	"harness/internal/platform/config"
	"harness/internal/services/tools/mcphost"
	"harness/internal/services/tools/sandbox"
	"harness/internal/services/tools/workspace"
	"harness/server"
	"harness/server/datadir"
)

// newMCP offers the tools of a session, or the control of sessions, over standard pipes.
func newMCP() *cobra.Command {
	var sessionID, address string
	var control bool
	var connection remote.Connection
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Offer the server's tools to an agent over standard input and output (MCP)",
		Long: "Offer the server's tools to an agent over standard input and output (MCP), in the name of a session.\n\n" +
			"It runs beside the server, as its user: what shows the session is signed with the secret in DATA_DIR. Calls are decided about and\n" +
			"recorded as those of the session's own agent.\n\n" +
			"With --control it offers tools to list, read, start and steer sessions of any server, as the caller whose token it has.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if control {
				base, token, err := connection.Find(localServer)
				if err != nil {
					return err
				}
				return mcphost.Bridge(cmd.Context(), base+mcp.Path, token, os.Stdin, os.Stdout)
			}
			if sessionID == "" {
				return config.Usagef("--session is missing: it is the id of the session in whose name the tools run; or use --control")
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
	cmd.Flags().BoolVar(&control, "control", false, "offer the control of sessions instead of the tools of one")
	connection.AddFlags(cmd.Flags())
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
