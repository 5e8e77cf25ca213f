package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"harness/internal/platform/cluster"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/migrations"
	"harness/server/datadir"
)

// newNodesCommand shows the servers of one Postgres from their rows, even if none of them runs.
func newNodesCommand() *cobra.Command {
	asJSON := false
	list := &cobra.Command{
		Use:   "list",
		Short: "List the servers that share DATABASE_URL, with their leases and turns",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withNodes(cmd, func(ctx context.Context, db *database.DB) error {
				nodes, err := cluster.List(ctx, db)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(nodes)
				}
				return listNodes(cmd, nodes)
			})
		},
	}
	addJSON(list, &asJSON, "print JSON")
	config.AddFlags(list.Flags())
	drain := &cobra.Command{
		Use:   "drain NODE",
		Short: "Drain a node: finish running turns, start no new ones",
		Long: "Drain a node: finish running turns, start no new turns, sessions and jobs.\n\nStop the server when harness nodes " +
			"list shows no turns for it. New sessions are created at another server with a node port, if there is one. The drain " +
			"takes effect within two seconds, and ends when the server restarts.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withNodes(cmd, func(ctx context.Context, db *database.DB) error {
				err := cluster.Drain(ctx, db, args[0])
				if errors.Is(err, cluster.ErrUnknown) {
					return config.Usagef("%w; harness nodes list shows which there are", err)
				}
				return err
			})
		},
	}
	config.AddFlags(drain.Flags())
	return newGroup("nodes", "List and drain the servers that share one Postgres", list, drain)
}

func withNodes(cmd *cobra.Command, do func(ctx context.Context, db *database.DB) error) (err error) {
	cfg, err := datadir.LoadConfig(cmd.Flags())
	if err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		return config.Usagef("there are several nodes on Postgres only: set DATABASE_URL to that of the servers")
	}
	db, err := database.Open(cmd.Context(), database.Options{URL: cfg.DatabaseURL, Marker: migrations.Marker})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(cmd.Context(), db)
}

func listNodes(cmd *cobra.Command, nodes []cluster.Node) error {
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NODE\tSTATE\tLEASE\tSESSIONS\tTURNS\tROLES\tVERSION\tADDRESS\tSERVER")
	for _, n := range nodes {
		lease := "over"
		if n.LeaseMS > 0 {
			lease = (time.Duration(n.LeaseMS) * time.Millisecond).Round(100 * time.Millisecond).String()
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", n.NodeID, n.State, lease, n.Sessions, n.Turns, n.Roles, n.Version,
			cmp.Or(n.Address, "-"), n.Owner)
	}
	return table.Flush()
}
