package remote

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"harness/client"
)

// changes makes the command that lists what a session changed in its folder.
func (c *commands) changes() *cobra.Command {
	var turn string
	var patch, branch bool
	cmd := c.one("changes SESSION", "List what a session changed in its folder since its first turn",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			if patch {
				return printPatch(cmd, api, args[0], &client.ReadDiffParams{Turn: given[string](turn), Base: baseOf[client.ReadDiffParamsBase](branch)})
			}
			var cursor *int
			for {
				answer, err := read[json.RawMessage](api.ListChanges(cmd.Context(), args[0],
					&client.ListChangesParams{Turn: given[string](turn), Base: baseOf[client.ListChangesParamsBase](branch), Cursor: cursor}))
				if err != nil {
					return err
				}
				var next string
				if err := show(c, cmd.OutOrStdout(), answer, func(body client.Changes) error {
					next = text(body.NextCursor)
					return printChanges(cmd.OutOrStdout(), body, cursor == nil)
				}); err != nil || next == "" {
					return err
				}
				offset, err := strconv.Atoi(next)
				if err != nil {
					return fmt.Errorf("the cursor %q of the server is no number: %w", next, err)
				}
				cursor = &offset
			}
		})
	cmd.Flags().StringVar(&turn, "turn", "", "only the changes of this turn")
	cmd.Flags().BoolVar(&branch, "branch", false, "the changes since the last commit")
	cmd.Flags().BoolVar(&patch, "patch", false, "print the changes as a patch")
	return cmd
}

// baseOf returns the base of the changes, nil for the server's default.
func baseOf[B ~string](branch bool) *B {
	if !branch {
		return nil
	}
	base := B("branch")
	return &base
}

// printPatch prints the changes as "git apply" accepts them.
func printPatch(cmd *cobra.Command, api *client.Client, session string, params *client.ReadDiffParams) error {
	diff, err := read[client.Diff](api.ReadDiff(cmd.Context(), session, params))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), diff.Patch); err != nil {
		return err
	}
	if diff.Truncated {
		return fmt.Errorf("the patch is longer than 256 KiB and is cut; name one turn with --turn")
	}
	return nil
}

func printChanges(out io.Writer, body client.Changes, first bool) error {
	if first {
		if _, err := fmt.Fprintf(out, "%d changed files, +%d -%d\n", body.Total, body.Added, body.Removed); err != nil {
			return err
		}
	}
	for _, file := range body.Files {
		name := file.Path
		if file.From != nil {
			name = *file.From + " -> " + file.Path
		}
		if _, err := fmt.Fprintf(out, "%-8s  +%d -%d  %s\n", file.Kind, file.Added, file.Removed, name); err != nil {
			return err
		}
	}
	return nil
}
