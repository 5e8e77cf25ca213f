package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/internal/services/bundle"
	"harness/server"
)

// newReplay replays a bundle, on any machine.
func newReplay() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay BUNDLE",
		Short: "Replay a support bundle and report differences",
		Long: "Play a support bundle (harness bundle SESSION) again: its lines are read and its events derived by this program, what\n" +
			"the agent wrote is translated, and all that compared with what is in it. Exit code 1 when it differs. Needs no server\n" +
			"and no agent.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			file, err := os.Open(args[0])
			if err != nil {
				return config.Usagef("the bundle cannot be read: %w", err)
			}
			defer func() { err = errors.Join(err, file.Close()) }()
			read, err := bundle.Read(file)
			if err != nil {
				return err
			}
			result := bundle.Replay(read, server.AdapterOf(read.Manifest.Runtime))
			out := cmd.OutOrStdout()
			if asJSON {
				encoder := json.NewEncoder(out)
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				err = encoder.Encode(result)
			} else {
				err = result.Print(out)
			}
			if err == nil && len(result.Differences) > 0 {
				err = fmt.Errorf("the replay differs from the bundle in %d places", len(result.Differences))
			}
			return err
		},
	}
	addJSON(cmd, &asJSON, "print the result as JSON, for scripts")
	return cmd
}
