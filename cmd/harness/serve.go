package main

import (
	"os"

	"github.com/spf13/cobra"

	"harness/cmd/harness/remote"
	"harness/internal/platform/config"
	"harness/server"
	"harness/server/datadir"
)

func newServe(further []server.RuntimeMaker) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the REST API and the websocket stream",
		Long: "Serve the REST API and the websocket stream.\n\nWith no configuration the server listens on " +
			"127.0.0.1:3001, keeps its state in .data (SQLite) and\n" +
			"runs `codex` from PATH. Every setting is a flag, a name in the environment and a key of the configuration\n" +
			"file: harness serve --help-all, harness config print",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				config.ShowAllFlags(cmd.Flags())
				return cmd.Help()
			}
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			endsItself(cmd.Context())
			var options server.Options
			if remote.IsTerminal(os.Stderr) {
				options.Terminal = os.Stderr
			}
			return server.Run(cmd.Context(), cfg, further, options)
		},
	}
	config.AddFlags(cmd.Flags())
	config.ShowCommonFlags(cmd.Flags())
	cmd.Flags().BoolVar(&all, "help-all", false, "show every setting")
	return cmd
}
