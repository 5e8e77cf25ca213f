package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

// blame makes the command that lists the turns that wrote the lines of a file.
func (c *commands) blame() *cobra.Command {
	var session string
	cmd := c.one("blame FILE[:LINE]", "List which turns wrote the lines of a file in the folder of a session",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			file, line, err := fileAndLine(args[0])
			if err != nil {
				return err
			}
			session, path, err := sessionOfFile(cmd.Context(), api, session, file)
			if err != nil {
				return err
			}
			params := &client.ReadBlameParams{Path: path}
			if one := 1; line > 0 {
				params.Line, params.Limit = &line, &one
			}
			for {
				answer, err := read[json.RawMessage](api.ReadBlame(cmd.Context(), session, params))
				if err != nil {
					return err
				}
				var next *int
				if err := show(c, cmd.OutOrStdout(), answer, func(body client.Blame) error {
					next = body.NextLine
					return printBlame(cmd.OutOrStdout(), body, line > 0)
				}); err != nil || next == nil || line > 0 {
					return err
				}
				params.Line = next
			}
		})
	cmd.Flags().StringVar(&session, "session", "", "the session (default: the newest whose folder has the file)")
	return cmd
}

// fileAndLine splits FILE[:LINE]; line is 0 for all lines.
func fileAndLine(arg string) (file string, line int, err error) {
	at := strings.LastIndexByte(arg, ':')
	if at < 0 {
		return arg, 0, nil
	}
	if line, err = strconv.Atoi(arg[at+1:]); err != nil {
		return arg, 0, nil //nolint:nilerr // the name has a colon
	}
	if line < 1 {
		return "", 0, fmt.Errorf("the line %d of %s does not exist: lines count from 1", line, arg[:at])
	}
	return arg[:at], line, nil
}

// sessionOfFile returns the session whose folder has a file, and the path below its folder. Of several, it is the newest
// in the nearest folder.
func sessionOfFile(ctx context.Context, api *client.Client, session, file string) (id, path string, err error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", "", err
	}
	limit := pageSize
	params := &client.ListSessionsParams{Limit: &limit}
	nearest := ""
	for {
		page, err := read[client.ListSessions200JSONResponseBody](api.ListSessions(ctx, params))
		if err != nil {
			return "", "", err
		}
		for _, one := range page.Data {
			below, err := filepath.Rel(one.Cwd, full)
			if err != nil || below == ".." || strings.HasPrefix(below, "../") || session != "" && one.SessionID != session {
				continue
			}
			if len(one.Cwd) > len(nearest) {
				id, path, nearest = one.SessionID, below, one.Cwd
			}
		}
		if next := text(page.NextCursor); next != "" && (session == "" || id == "") {
			params.Cursor = &next
			continue
		}
		break
	}
	switch {
	case id != "":
		return id, path, nil
	case session != "": // of a folder on another machine
		return session, file, nil
	}
	return "", "", fmt.Errorf("no session of this server works in a folder with %s; name one with --session, and the path below its folder",
		full)
}

func printBlame(out io.Writer, body client.Blame, one bool) error {
	for _, lines := range body.Lines {
		turn := "-"
		if lines.TurnID != nil {
			turn = *lines.TurnID
		}
		if !lines.Certain {
			turn = "unclear"
		}
		for i, text := range lines.Text {
			if _, err := fmt.Fprintf(out, "%-36s  %5d  %s\n", turn, lines.From+i, text); err != nil {
				return err
			}
		}
		if !one || lines.TurnID == nil || !lines.Certain {
			continue
		}
		if _, err := fmt.Fprintf(out, "session   %s\nprompt    %s\n", text(lines.SessionID), firstLine(text(lines.Prompt))); err != nil {
			return err
		}
		if lines.ApprovalID != nil && lines.DecidedBy != nil {
			if _, err := fmt.Fprintf(out, "approved  by %s\n", cmp.Or(text(lines.DecidedBy.Name), lines.DecidedBy.Actor)); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstLine cuts a message for one line of output.
func firstLine(message string) string {
	line, rest, _ := strings.Cut(message, "\n")
	if rest != "" {
		line += " …"
	}
	return line
}
