package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/server/datadir"
	"harness/server/doctor"
)

func newDoctor() *cobra.Command {
	var asJSON, scrubs, salvages bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine, the configuration and the server, and suggest fixes",
		Long: "Check this machine, the configuration and the server, and suggest fixes: one line each. Nothing is changed.\n" +
			"Exit code 1 when something is broken; warnings do not count. Run it as the server's user, in its working directory, with its settings.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if salvages {
				cfg, err := datadir.LoadConfig(cmd.Flags())
				if err != nil {
					return err
				}
				notice, err := doctor.Salvage(cfg)
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), notice)
				}
				return err
			}
			found, err := doctor.Examine(cmd.Context(), cmd.Flags(), scrubs)
			if err != nil {
				return err
			}
			return report(cmd.OutOrStdout(), found, asJSON)
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&scrubs, "scrub", false, "also check every row of the database, and list damaged ones")
	cmd.Flags().BoolVar(&salvages, "salvage", false, "move a damaged log of SQLite aside, and continue without it")
	cmd.MarkFlagsMutuallyExclusive("scrub", "salvage")
	addJSON(cmd, &asJSON, "print the findings as JSON, for scripts")
	return cmd
}

// report prints the findings; it returns an error if something is broken.
func report(out io.Writer, found []doctor.Finding, asJSON bool) error {
	broken := 0
	for _, f := range found {
		if f.Status == doctor.Broken {
			broken++
		}
	}
	var err error
	if asJSON {
		err = printJSON(out, map[string]any{"ok": broken == 0, "findings": found})
	} else {
		err = printFindings(out, found)
	}
	if err == nil && broken > 0 {
		err = fmt.Errorf("%d of %d findings are broken", broken, len(found))
	}
	return err
}

func printFindings(out io.Writer, found []doctor.Finding) error {
	for _, f := range found {
		line := fmt.Sprintf("%-8s %-12s %s", f.Status, f.Name, f.Message)
		if f.Remedy != "" {
			line += "; remedy: " + f.Remedy
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
