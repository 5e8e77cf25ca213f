package remote

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"harness/client"
)

func (c *commands) tokens() *cobra.Command {
	return group("tokens", "Create, list and revoke the access tokens of people and machines",
		c.createToken(), c.listTokens(), c.changeToken(), c.revokeToken())
}

func (c *commands) createToken() *cobra.Command {
	var role, expires string
	var projects []string
	cmd := c.one("create NAME", "Create a token and print its secret once",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			body := client.CreateTokenJSONRequestBody{Name: args[0], Role: client.TokenRole(role)}
			if expires != "" {
				lives, err := lifetime(expires)
				if err != nil {
					return err
				}
				at := time.Now().Add(lives)
				body.ExpiresAt = &at
			}
			if len(projects) > 0 {
				body.Projects = &projects
			}
			answer, err := read[json.RawMessage](api.CreateToken(cmd.Context(), body))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.CreateToken200JSONResponseBody) error {
				if !c.quiet {
					_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "Save this secret now. It won't be shown again. Set it as HARNESS_TOKEN.")
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), body.Secret)
				return err
			})
		})
	OneOf(cmd, &role, "role", "", "role of the token; a viewer reads, ci writes transcripts, an operator works with sessions",
		tokenRoles()...)
	cmd.Flags().StringVar(&expires, "expires", "", "lifetime: 90d, 12h (default: no end)")
	cmd.Flags().StringSliceVar(&projects, "project", nil,
		"id of a project to limit it to, may be given several times (default: no limit)")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := ArgumentsError(cmd, args); err != nil {
			return err
		}
		if role == "" {
			return usage("--role is required: %s", choice(tokenRoles()))
		}
		return nil
	}
	return cmd
}

// tokenRoles returns the roles that a token may have.
func tokenRoles() []string { return []string{"viewer", "ci", "operator", "admin"} }

// lifetime parses a duration such as 90d or 12h.
func lifetime(text string) (time.Duration, error) {
	if number, inDays := strings.CutSuffix(text, "d"); inDays {
		if days, err := strconv.Atoi(number); err == nil && days > 0 && days <= 36500 {
			return time.Duration(days) * 24 * time.Hour, nil
		}
	} else if lives, err := time.ParseDuration(text); err == nil && lives > 0 {
		return lives, nil
	}
	return 0, usage("--expires must be a duration such as 90d or 12h, not %s", text)
}

func (c *commands) listTokens() *cobra.Command {
	return c.one("list", "List tokens, including revoked ones",
		func(cmd *cobra.Command, api *client.Client, _ []string) error {
			answer, err := read[json.RawMessage](api.ListTokens(cmd.Context()))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.ListTokens200JSONResponseBody) error {
				var rows [][]string
				for _, t := range body.Data {
					rows = append(rows, []string{t.ID, t.Name, string(t.Role), string(t.State), day(&t.CreatedAt), t.CreatedBy,
						day(t.ExpiresAt), limitOf(t)})
				}
				return table(cmd.OutOrStdout(), []string{"TOKEN", "NAME", "ROLE", "STATE", "CREATED", "BY", "EXPIRES", "PROJECTS"}, rows)
			})
		})
}

func limitOf(t client.Token) string {
	if t.Projects == nil {
		return "all"
	}
	return strings.Join(*t.Projects, ",")
}

func day(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.Local().Format(time.DateOnly)
}

func (c *commands) changeToken() *cobra.Command {
	cmd := c.one("role TOKEN ROLE", "Change a token's role and close its open connections. TOKEN is an id or a name",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			id, err := tokenOf(cmd, api, args[0])
			if err != nil {
				return err
			}
			answer, err := read[json.RawMessage](api.ChangeToken(cmd.Context(), id,
				client.ChangeTokenJSONRequestBody{Role: client.TokenRole(args[1])}))
			return c.printToken(cmd, answer, err)
		})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := ArgumentsError(cmd, args); err != nil {
			return err
		}
		if !slices.Contains(tokenRoles(), args[1]) {
			return usage("role must be %[2]s, not %[1]q", args[1], choice(tokenRoles()))
		}
		return nil
	}
	return cmd
}

func (c *commands) revokeToken() *cobra.Command {
	return c.one("revoke TOKEN", "Revoke a token and close its open connections. TOKEN is an id or a name",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			id, err := tokenOf(cmd, api, args[0])
			if err != nil {
				return err
			}
			answer, err := read[json.RawMessage](api.RevokeToken(cmd.Context(), id))
			return c.printToken(cmd, answer, err)
		})
}

// printToken prints the id of the token in a response.
func (c *commands) printToken(cmd *cobra.Command, answer json.RawMessage, err error) error {
	if err != nil {
		return err
	}
	return show(c, cmd.OutOrStdout(), answer, func(body struct{ Token client.Token }) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), body.Token.ID)
		return err
	})
}

// tokenOf returns the id of a token, given that id or the name of a token that is not revoked.
func tokenOf(cmd *cobra.Command, api *client.Client, named string) (string, error) {
	all, err := read[client.ListTokens200JSONResponseBody](api.ListTokens(cmd.Context()))
	if err != nil {
		return "", err
	}
	for _, t := range all.Data {
		if t.ID == named || t.Name == named && t.RevokedAt == nil {
			return t.ID, nil
		}
	}
	return "", fmt.Errorf("no token %s; harness tokens list shows all", oneLine(named, 100))
}
