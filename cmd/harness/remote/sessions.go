package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

// group makes a command that only has subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: NoCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// one makes a command whose first argument is a session.
func (c *commands) one(use, short string,
	do func(cmd *cobra.Command, api *client.Client, args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: ArgumentsError,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.connect()
			if err != nil {
				return err
			}
			return do(cmd, api, args)
		}}
	if words := strings.Fields(use); len(words) > 1 && words[1] == "SESSION" {
		cmd.ValidArgsFunction = c.completeSessions
	}
	return cmd
}

func (c *commands) sessions() *cobra.Command {
	return group("sessions", "List, show, send to, follow, fork, archive, delete and export sessions of a server",
		c.listSessions(), c.showSession(), c.sendSession(), c.followSession(), c.exportSession(),
		c.changeSession("fork SESSION", "Fork a session with its history; prints the new id",
			func(api *client.Client, ctx context.Context, session string, edits ...client.RequestEditorFn) (*http.Response, error) {
				return api.ForkSession(ctx, session, nil, edits...)
			}),
		c.changeSession("archive SESSION", "Archive a session", (*client.Client).ArchiveSession),
		c.changeSession("unarchive SESSION", "Unarchive a session", (*client.Client).UnarchiveSession),
		c.deleteSession())
}

func (c *commands) listSessions() *cobra.Command {
	var (
		archived, all bool
		search, in    string
		limit         int
	)
	cmd := c.one("list", "List sessions, newest first", func(cmd *cobra.Command, api *client.Client, _ []string) error {
		view := client.ListSessionsParamsViewConsole
		params := &client.ListSessionsParams{Q: given[string](search), Runtime: given[string](in), Limit: &limit, View: &view}
		if archived {
			params.Archived = given[client.ListSessionsParamsArchived]("true")
		}
		if all {
			params.IncludeSystemOwned = given[client.ListSessionsParamsIncludeSystemOwned]("true")
		}
		answer, err := read[json.RawMessage](api.ListSessions(cmd.Context(), params))
		if err != nil {
			return err
		}
		return show(c, cmd.OutOrStdout(), answer, func(page client.ListSessions200JSONResponseBody) error {
			var rows [][]string
			for _, s := range page.Data {
				if c.quiet {
					_, _ = fmt.Fprintln(cmd.OutOrStdout(), s.SessionID)
					continue
				}
				rows = append(rows, []string{s.SessionID, text(s.State), text(s.Runtime), since(s.UpdatedAt), s.Title, s.Cwd})
			}
			if c.quiet {
				return nil
			}
			return table(cmd.OutOrStdout(), []string{"SESSION", "STATE", "RUNTIME", "AGE", "TITLE", "FOLDER"}, rows)
		})
	})
	flags := cmd.Flags()
	flags.BoolVar(&archived, "archived", false, "archived sessions only")
	flags.BoolVar(&all, "all", false, "also the sessions of workers")
	flags.StringVar(&search, "search", "", "only sessions with this text in the title or first message")
	flags.StringVar(&in, "runtime", "", "only sessions of this runtime")
	limit = 30
	flags.Var(countFlag{&limit, 200}, "limit", "how many to list, at most 200")
	return cmd
}

func (c *commands) showSession() *cobra.Command {
	return c.one("show SESSION", "Show a session and its transcript",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			view := client.ReadSessionParamsViewConsole
			answer, err := read[json.RawMessage](api.ReadSession(cmd.Context(), args[0], &client.ReadSessionParams{View: &view}))
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			return show(c, out, answer, func(body client.ReadSession200JSONResponseBody) error {
				s := body.Session
				if !c.quiet {
					_, _ = fmt.Fprintf(out, "%s  %s\nstate %s, runtime %s, in %s, changed %s ago\n\n",
						c.painted(out, bold, s.SessionID), oneLine(s.Title, 200), text(s.State), text(s.Runtime), s.Cwd,
						since(s.UpdatedAt))
				}
				for _, entry := range body.Transcript {
					content := entry.Content
					if c.terminal(out) {
						content = harmless(content)
					}
					_, _ = fmt.Fprintf(out, "%s %s\n", c.painted(out, bold, string(entry.Role)+":"), content)
				}
				return nil
			})
		})
}

func (c *commands) sendSession() *cobra.Command {
	var (
		turn   turnFlags
		follow bool
	)
	cmd := c.one("send SESSION MESSAGE", "Send a message and print the id of its turn; MESSAGE - reads standard input",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			message, err := prompt(cmd, args[1])
			if err != nil {
				return err
			}
			if follow {
				return c.watchTurn(cmd, api, args[0], message, turn)
			}
			answer, err := read[json.RawMessage](
				api.SendSessionMessage(cmd.Context(), args[0], nil, client.SendSessionMessageJSONRequestBody{
					Text: message, Model: given[string](turn.model), Effort: given[client.Effort](turn.effort)}))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(sent client.SendSessionMessage202JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), sent.TurnID)
				return err
			})
		})
	turn.add(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "stream the answer, as harness run does")
	return cmd
}

func (c *commands) followSession() *cobra.Command {
	var after string
	cmd := c.one("follow SESSION", "Stream a session's events until you press Ctrl-C; -o jsonl prints the frames",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			w := &watcher{commands: c, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr()}
			err := w.follow(cmd.Context(), api, args[0], after)
			if cmd.Context().Err() != nil {
				return nil //nolint:nilerr // it was broken off: the one way it ends well
			}
			return err
		})
	cmd.Flags().StringVar(&after, "after", "", "start after this position; 0 for everything that is kept (default: new events only)")
	return cmd
}

// changeSession makes a command that changes one thing of a session.
func (c *commands) changeSession(use, short string,
	do func(*client.Client, context.Context, string, ...client.RequestEditorFn) (*http.Response, error)) *cobra.Command {
	return c.one(use, short, func(cmd *cobra.Command, api *client.Client, args []string) error {
		answer, err := read[json.RawMessage](do(api, cmd.Context(), args[0]))
		if err != nil {
			return err
		}
		return show(c, cmd.OutOrStdout(), answer, func(body struct {
			SessionID string
			Session   struct{ SessionID string }
		}) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), body.SessionID+body.Session.SessionID)
			return err
		})
	})
}

func (c *commands) deleteSession() *cobra.Command {
	var yes bool
	cmd := c.one("delete SESSION", "Delete a session for good",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			if !yes {
				if !c.terminal(cmd.InOrStdin()) {
					return usage("not a terminal: add --yes to delete")
				}
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Delete %s and its transcript for good? [y/N] ", args[0])
				var answer string
				if _, err := fmt.Fscanln(cmd.InOrStdin(), &answer); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
					return errors.New("nothing was deleted")
				}
			}
			answer, err := read[json.RawMessage](api.DeleteSession(cmd.Context(), args[0]))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.DeleteSession200JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), body.SessionID)
				return err
			})
		})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	return cmd
}
