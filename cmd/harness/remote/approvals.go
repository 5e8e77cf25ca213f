package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

// pageSize is the number of sessions per request when all are listed.
const pageSize = 200

func (c *commands) approvals() *cobra.Command {
	return group("approvals", "List, watch, approve and decline requests of agents",
		c.listApprovals(), c.decide("accept"), c.decide("decline"))
}

func (c *commands) listApprovals() *cobra.Command {
	var (
		session string
		watch   bool
	)
	cmd := c.one("list", "List pending approvals", func(cmd *cobra.Command, api *client.Client, _ []string) error {
		if watch {
			return c.watchApprovals(cmd, api, session)
		}
		waiting, err := c.pending(cmd.Context(), api, session)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if c.asksJSON() {
			encoded, err := json.Marshal(map[string]any{"data": waiting})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(out, string(encoded))
			return err
		}
		changes, err := changesOf(cmd.Context(), api)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, a := range waiting {
			if c.quiet {
				_, _ = fmt.Fprintln(out, a.ApprovalID)
				continue
			}
			rows = append(rows, []string{a.ApprovalID, a.ThreadID, since(int(a.CreatedAt.Unix())), cmp.Or(changes[a.ApprovalID], a.Summary)})
		}
		if c.quiet {
			return nil
		}
		return table(out, []string{"APPROVAL", "SESSION", "AGE", "WHAT"}, rows)
	})
	cmd.Flags().StringVar(&session, "session", "", "only of this session")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false,
		"pending approvals and each new one; in a terminal it asks for a decision")
	return cmd
}

// changesOf describes the files that pending approvals change, by approval.
func changesOf(ctx context.Context, api *client.Client) (map[string]string, error) {
	page, err := read[struct {
		Data []struct {
			ApprovalID string
			Changes    []struct {
				Path           string
				Added, Removed int
			}
		}
	}](api.ListRequests(ctx))
	if isStatus(err, 404) {
		return nil, nil // an older server
	}
	described := map[string]string{}
	for _, one := range page.Data {
		var files []string
		for _, file := range one.Changes {
			files = append(files, fmt.Sprintf("%s +%d -%d", file.Path, file.Added, file.Removed))
		}
		if len(files) > 0 {
			described[one.ApprovalID] = "Edit: " + strings.Join(files, ", ")
		}
	}
	return described, err
}

// pending lists the pending approvals of a session, or of all.
func (c *commands) pending(ctx context.Context, api *client.Client, session string) ([]client.Approval, error) {
	sessions := []string{session}
	if session == "" {
		sessions = nil
		limit, everything := pageSize, client.ListSessionsParamsIncludeSystemOwned("true")
		for params := (&client.ListSessionsParams{Limit: &limit, IncludeSystemOwned: &everything}); ; {
			page, err := read[client.ListSessions200JSONResponseBody](api.ListSessions(ctx, params))
			if err != nil {
				return nil, err
			}
			for _, s := range page.Data {
				if s.PendingCount != nil && *s.PendingCount > 0 {
					sessions = append(sessions, s.SessionID)
				}
			}
			if params.Cursor = page.NextCursor; params.Cursor == nil {
				break
			}
		}
	}
	waiting := []client.Approval{}
	for _, id := range sessions {
		list, err := read[client.ListSessionApprovals200JSONResponseBody](api.ListSessionApprovals(ctx, id))
		if isStatus(err, 403) || isStatus(err, 410) {
			continue // a worker's session, or deleted in between
		}
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, list.Data...)
	}
	return waiting, nil
}

// watchApprovals prints each approval once: those pending when the stream opens, and new ones.
func (c *commands) watchApprovals(cmd *cobra.Command, api *client.Client, session string) error {
	out, printed := cmd.OutOrStdout(), map[string]bool{}
	var decide *decider
	if c.output == "" && c.terminal(cmd.InOrStdin()) {
		var err error
		if decide, err = c.newDecider(cmd, api, "ask"); err != nil {
			return err
		}
	}
	printOnce := func(a client.Approval) error {
		if printed[a.ApprovalID] {
			return nil
		}
		printed[a.ApprovalID] = true
		switch {
		case decide != nil:
			return decide.approval(cmd.Context(), a)
		case c.asksJSON():
			encoded, err := json.Marshal(a)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(out, string(encoded))
			return err
		}
		_, err := fmt.Fprintf(out, "%s  %s  %s\n", a.ApprovalID, a.ThreadID, oneLine(a.Summary, 200))
		return err
	}
	err := api.Follow(cmd.Context(), client.FollowOptions{Session: session}, func(frame client.Frame) error {
		switch frame.Type {
		case "resumed", "gap", "ahead": // the stream is open: no approval is missed between the list and the stream
			waiting, err := c.pending(cmd.Context(), api, session)
			if err != nil {
				return err
			}
			for _, a := range waiting {
				if err := printOnce(a); err != nil {
					return err
				}
			}
		case "approval":
			var a client.Approval
			if err := json.Unmarshal(frame.Payload, &a); err != nil {
				return fmt.Errorf("cannot read an approval: %w", err)
			}
			return printOnce(a)
		}
		return nil
	})
	if cmd.Context().Err() != nil || errors.Is(err, errNoAnswer) {
		return nil //nolint:nilerr // it was broken off, or the person left: the ways it ends well
	}
	return remedied(err)
}

// decide makes the command accept or decline.
func (c *commands) decide(decision string) *cobra.Command {
	var (
		message string
		whole   bool
	)
	short := map[string]string{"accept": "Approve a request of an agent",
		"decline": "Decline a request of an agent"}[decision]
	cmd := c.one(decision+" APPROVAL", short, func(cmd *cobra.Command, api *client.Client, args []string) error {
		body := client.DecideApprovalJSONRequestBody{Decision: client.Decision(decision),
			Message: given[client.Reason](message)}
		if whole {
			body.Scope = given[client.DecideApprovalJSONBodyScope]("session")
		}
		answer, err := read[json.RawMessage](api.DecideApproval(cmd.Context(), args[0], nil, body))
		if err != nil {
			return err
		}
		return show(c, cmd.OutOrStdout(), answer, func(body client.DecideApproval200JSONResponseBody) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), body.ApprovalID)
			return err
		})
	})
	cmd.ValidArgsFunction = c.completeApprovals
	cmd.Flags().StringVarP(&message, "message", "m", "",
		"reason; stored with the decision, and shown to the agent if its runtime can")
	cmd.Flags().BoolVar(&whole, "for-session", false, "also for the rest of the session")
	return cmd
}

func (c *commands) completeApprovals(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	api, err := c.connect()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	waiting, err := c.pending(cmd.Context(), api, "")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, a := range waiting {
		offered = append(offered, a.ApprovalID+"\t"+oneLine(a.Summary, 80))
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}
