package main

import (
	"net/url"

	"github.com/spf13/cobra"

	"harness/cmd/harness/bridge"
	"harness/cmd/harness/remote"
)

// newACP lets an editor that starts an agent work on a server's sessions.
func newACP() *cobra.Command {
	var connection remote.Connection
	var runtime string
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Connect a client of the Agent Client Protocol to a server over standard input and output",
		Long: "Connect a client of the Agent Client Protocol to a server over standard input and output: one message for each line.\n" +
			"An editor starts it as its agent. A lost connection is made again, and prompts without an answer are sent once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return pipe(cmd, connection, "/acp?"+url.Values{"runtime": {runtime}}.Encode(), &bridge.ACP{})
		},
	}
	connection.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&runtime, "runtime", "", "the runtime of new sessions; by default the server's")
	return cmd
}
