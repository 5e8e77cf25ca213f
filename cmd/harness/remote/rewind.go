package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

// rewind makes the command that takes a session back to before a turn.
func (c *commands) rewind() *cobra.Command {
	var turn, undo string
	var files, conversation, force, dry bool
	cmd := c.one("rewind SESSION", "Take the files and the conversation of a session back to before a turn",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			all := files == conversation // both, or none was named
			withFiles, withConversation := all || files, all || conversation
			answer, err := read[json.RawMessage](api.RewindSession(cmd.Context(), args[0], &client.RewindSessionParams{},
				client.RewindSessionJSONRequestBody{TurnID: given[string](turn), Undo: given[string](undo), Files: &withFiles,
					Conversation: &withConversation, Force: &force, DryRun: &dry}))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.Rewind) error {
				out := fmt.Sprintf("%d files, %d turns, conversation %s\n", body.Files, len(body.Turns), body.Conversation)
				if len(body.Changed) > 0 {
					out += "changed by someone else since: " + strings.Join(body.Changed, ", ") + "\n"
				}
				if body.RewindID != nil && undo == "" {
					out += fmt.Sprintf("undo it with: harness rewind %s --undo %s\n", args[0], *body.RewindID)
				}
				_, err := fmt.Fprint(cmd.OutOrStdout(), out+"not covered: "+strings.Join(body.NotCovered, ", ")+"\n")
				return err
			})
		})
	cmd.Flags().StringVar(&turn, "turn", "", "the first turn to take back")
	cmd.Flags().StringVar(&undo, "undo", "", "the rewind to undo instead")
	cmd.Flags().BoolVar(&files, "files", false, "only the files")
	cmd.Flags().BoolVar(&conversation, "conversation", false, "only the conversation")
	cmd.Flags().BoolVar(&force, "force", false, "also files that someone else changed since")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print what would happen")
	return cmd
}
