package remote

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"harness/client"
)

// worktrees makes the commands for the worktrees of sessions.
func (c *commands) worktrees() *cobra.Command {
	return group("worktrees", "List and remove the git worktrees of sessions", c.listWorktrees(), c.removeWorktree())
}

func (c *commands) listWorktrees() *cobra.Command {
	return c.one("list", "List the worktrees of the server, and why each is kept",
		func(cmd *cobra.Command, api *client.Client, _ []string) error {
			answer, err := read[json.RawMessage](api.ListWorktrees(cmd.Context()))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.Worktrees) error {
				var rows [][]string
				for _, one := range body.Worktrees {
					rows = append(rows, []string{one.ID, string(one.State), text(one.SessionID), one.Branch, text(one.Kept)})
				}
				return table(cmd.OutOrStdout(), []string{"WORKTREE", "STATE", "SESSION", "BRANCH", "KEPT"}, rows)
			})
		})
}

func (c *commands) removeWorktree() *cobra.Command {
	var force bool
	cmd := c.one("remove WORKTREE", "Move a worktree to the trash for a week; its branch stays",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			params := &client.RemoveWorktreeParams{}
			if force {
				params.Force = given[client.RemoveWorktreeParamsForce]("true")
			}
			answer, err := read[json.RawMessage](api.RemoveWorktree(cmd.Context(), args[0], params))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.RemoveWorktree200JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), body.Trash)
				return err
			})
		})
	cmd.Flags().BoolVar(&force, "force", false, "also with files that are not committed")
	return cmd
}
