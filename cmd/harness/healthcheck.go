package main

import (
	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/server/datadir"
)

// newHealthcheck is for containers, which have no curl: it exits with 0 if the server of this configuration is ready.
func newHealthcheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Exit 0 when the server of this configuration is ready for work",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			return datadir.CheckReady(cmd.Context(), cfg)
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}
