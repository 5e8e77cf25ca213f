package main

import (
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"harness/cmd/harness/bridge"
	"harness/cmd/harness/remote"
)

// newAppServer lets an editor that starts `codex app-server` work on a server's sessions.
func newAppServer() *cobra.Command {
	var connection remote.Connection
	cmd := &cobra.Command{
		Use:   "app-server",
		Short: "Connect a front end of codex to a server over standard input and output",
		Long: "Connect a front end of codex to a server over standard input and output: one message of the app-server protocol for\n" +
			"each line. It stands in for `codex app-server` where an editor starts that. A lost connection is made again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return pipe(cmd, connection, "/", &bridge.AppServer{})
		},
	}
	connection.AddFlags(cmd.Flags())
	return cmd
}

// pipe connects standard input and output to a path of a server.
func pipe(cmd *cobra.Command, connection remote.Connection, path string, protocol bridge.Protocol) error {
	base, token, err := connection.Find(localServer)
	if err != nil {
		return err
	}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	b := bridge.Bridge{URL: "ws" + strings.TrimPrefix(base, "http") + path, Header: header, Protocol: protocol}
	return b.Run(cmd.Context(), os.Stdin, cmd.OutOrStdout())
}
