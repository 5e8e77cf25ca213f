package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

func (c *commands) projects() *cobra.Command {
	list := c.one("list", "List projects", func(cmd *cobra.Command, api *client.Client, _ []string) error {
		answer, err := read[json.RawMessage](api.ListProjects(cmd.Context()))
		if err != nil {
			return err
		}
		return show(c, cmd.OutOrStdout(), answer, func(body client.ListProjects200JSONResponseBody) error {
			var rows [][]string
			for _, p := range body.Data {
				rows = append(rows, []string{p.ProjectID, p.Name, text(p.WorkingDirectory)})
			}
			return table(cmd.OutOrStdout(), []string{"PROJECT", "NAME", "FOLDER"}, rows)
		})
	})
	remove := c.one("delete PROJECT", "Delete an empty project",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			answer, err := read[json.RawMessage](api.DeleteProject(cmd.Context(), args[0]))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.DeleteProject200JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), body.ProjectID)
				return err
			})
		})
	move := c.one("assign SESSION [PROJECT]", "Move a session to a project (no PROJECT: remove it from its project)",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			var body client.SetSessionProjectJSONRequestBody
			if len(args) > 1 {
				body.ProjectID = &args[1]
			}
			answer, err := read[json.RawMessage](api.SetSessionProject(cmd.Context(), args[0], body))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body struct{ SessionID string }) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), body.SessionID)
				return err
			})
		})
	return group("projects", "List, create and delete projects, and move sessions between them", list, c.createProject(), remove, move)
}

// createProject makes the command that creates a project.
func (c *commands) createProject() *cobra.Command {
	var folder string
	create := c.one("create NAME", "Create a project and print its id",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			answer, err := read[json.RawMessage](api.CreateProject(cmd.Context(), nil,
				client.CreateProjectJSONRequestBody{Name: args[0], WorkingDirectory: given[string](folder)}))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.CreateProject200JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), body.Project.ProjectID)
				return err
			})
		})
	create.Args = func(cmd *cobra.Command, args []string) error {
		if err := ArgumentsError(cmd, args); err != nil {
			return err
		}
		if strings.TrimSpace(args[0]) == "" {
			return usage("NAME is empty. Usage: %s", cmd.UseLine())
		}
		return nil
	}
	create.Flags().StringVar(&folder, "folder", "", "working folder of its sessions")
	return create
}

func (c *commands) models() *cobra.Command {
	var in string
	cmd := c.one("models", "List the models of a runtime", func(cmd *cobra.Command, api *client.Client, _ []string) error {
		answer, err := read[json.RawMessage](
			api.ListModels(cmd.Context(), &client.ListModelsParams{Runtime: given[string](in)}))
		if err != nil {
			return err
		}
		return show(c, cmd.OutOrStdout(), answer, func(body struct {
			Data []struct {
				ID, Model, Name, DisplayName, Description string
				Default, IsDefault                        bool
			}
		}) error {
			var rows [][]string
			for _, m := range body.Data {
				mark := ""
				if m.Default || m.IsDefault {
					mark = "default"
				}
				rows = append(rows, []string{m.ID, m.Name + m.DisplayName, mark, m.Description})
			}
			return table(cmd.OutOrStdout(), []string{"MODEL", "NAME", "", "DESCRIPTION"}, rows)
		})
	})
	cmd.Flags().StringVar(&in, "runtime", "", "runtime to ask (default: the server's default)")
	return cmd
}

func (c *commands) runtimes() *cobra.Command {
	return c.one("status", "Show the runtimes of a server: state, version, sign-in and remedy",
		func(cmd *cobra.Command, api *client.Client, _ []string) error {
			answer, err := read[json.RawMessage](api.ListRuntimes(cmd.Context()))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body struct{ Data []client.Runtime }) error {
				var rows [][]string
				for _, r := range body.Data {
					todo := text(r.Reason)
					if todo == "" && string(r.Auth.State) == "missing" {
						todo = text(r.Auth.Remedy)
					}
					rows = append(rows, []string{r.Name, string(r.State), text(r.Version), string(r.Auth.State), todo})
				}
				return table(cmd.OutOrStdout(), []string{"RUNTIME", "STATE", "VERSION", "LOGIN", "WHAT TO DO"}, rows)
			})
		})
}
