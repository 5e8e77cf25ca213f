package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/server/datadir"
	"harness/server/doctor"
)

func newConfig() *cobra.Command {
	show := &cobra.Command{
		Use:   "print",
		Short: "Print every setting with its value and where it came from; secrets are redacted",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			if err := warnOfSettings(cmd.ErrOrStderr(), cfg); err != nil {
				return err
			}
			return config.Print(cmd.OutOrStdout(), cfg)
		},
	}
	config.AddFlags(show.Flags())
	return newGroup("config", "Show the configuration", show)
}

// warnOfSettings warns of names that are not settings, and of ignored settings.
func warnOfSettings(out io.Writer, cfg *config.Config) error {
	for _, name := range doctor.WithNearest(cfg.Unknown()) {
		if _, err := fmt.Fprintf(out, "warning: %s in the environment or .env is no setting and has no effect\n", name); err != nil {
			return err
		}
	}
	for _, note := range cfg.Notes() {
		if _, err := fmt.Fprintln(out, "warning:", note); err != nil {
			return err
		}
	}
	return nil
}
