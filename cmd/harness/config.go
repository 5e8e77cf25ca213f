package main

import (
	"github.com/spf13/cobra"

	"harness/config"
)

func newConfig() *cobra.Command {
	show := &cobra.Command{
		Use:   "print",
		Short: "Print every setting with its value and where it came from; secrets are redacted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			return config.Print(cmd.OutOrStdout(), cfg)
		},
	}
	config.AddFlags(show.Flags())
	return newGroup("config", "Look at the configuration", show)
}
