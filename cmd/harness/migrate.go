package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/server/datadir"
)

func newMigrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to this binary's schema version and exit (serve does it, too)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			cfg, err := datadir.LoadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			if err := datadir.NewConsents(cfg.Trust).Claim(cfg); err != nil {
				return err
			}
			db, result, err := datadir.OpenStore(cmd.Context(), cfg, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s schema version %d (was %d)\n", db.Engine(), result.To, result.From)
			return err
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}
