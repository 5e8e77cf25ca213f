package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

func (c *commands) projects() *cobra.Command {
	var folder string
	list := c.one("list", "List projects", func(cmd *cobra.Command, api *client.Client, _ []string) error {
		answer, err := read[json.RawMessage](api.ListProjects(cmd.Context()))
		if err != nil {
			return err
		}
		return show(c, cmd.OutOrStdout(), answer, func(told client.ListProjects200JSONResponseBody) error {
			var rows [][]string
			for _, p := range told.Data {
				rows = append(rows, []string{p.ProjectID, p.Name, text(p.WorkingDirectory)})
			}
			return table(cmd.OutOrStdout(), []string{"PROJECT", "NAME", "FOLDER"}, rows)
		})
	})
	create := c.one("create NAME", "Create a project and print its id",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			answer, err := read[json.RawMessage](api.CreateProject(cmd.Context(), nil,
				client.CreateProjectJSONRequestBody{Name: args[0], WorkingDirectory: given[string](folder)}))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(told client.CreateProject200JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), told.Project.ProjectID)
				return err
			})
		})
	create.Args = func(cmd *cobra.Command, args []string) error {
		if err := ArgumentsError(cmd, args); err != nil {
			return err
		}
		if strings.TrimSpace(args[0]) == "" {
			return usage("the name is empty: %s", cmd.UseLine())
		}
		return nil
	}
	create.Flags().StringVar(&folder, "folder", "", "where its sessions work")
	remove := c.one("delete PROJECT", "Delete an empty project",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			answer, err := read[json.RawMessage](api.DeleteProject(cmd.Context(), args[0]))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(told client.DeleteProject200JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), told.ProjectID)
				return err
			})
		})
	move := c.one("assign SESSION [PROJECT]", "Put a session into a project, without PROJECT into none",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			var body client.SetSessionProjectJSONRequestBody
			if len(args) > 1 {
				body.ProjectID = &args[1]
			}
			answer, err := read[json.RawMessage](api.SetSessionProject(cmd.Context(), args[0], body))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(told struct{ SessionID string }) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), told.SessionID)
				return err
			})
		})
	return group("projects", "List, create and delete projects, and put sessions into them", list, create, remove, move)
}

func (c *commands) models() *cobra.Command {
	var in string
	cmd := c.one("models", "List the models of a runtime", func(cmd *cobra.Command, api *client.Client, _ []string) error {
		answer, err := read[json.RawMessage](
			api.ListModels(cmd.Context(), &client.ListModelsParams{Runtime: given[string](in)}))
		if err != nil {
			return err
		}
		return show(c, cmd.OutOrStdout(), answer, func(told struct {
			Data []struct {
				ID, Model, Name, DisplayName, Description string
				Default, IsDefault                        bool
			}
		}) error {
			var rows [][]string
			for _, m := range told.Data {
				mark := ""
				if m.Default || m.IsDefault {
					mark = "default"
				}
				rows = append(rows, []string{m.ID, m.Name + m.DisplayName, mark, m.Description})
			}
			return table(cmd.OutOrStdout(), []string{"MODEL", "NAME", "", "DESCRIPTION"}, rows)
		})
	})
	cmd.Flags().StringVar(&in, "runtime", "", "of this runtime (default: the server's default one)")
	return cmd
}

func (c *commands) settings() *cobra.Command {
	var defaults bool
	scope := func() client.Scope {
		if defaults {
			return "default"
		}
		return "session"
	}
	told := func(cmd *cobra.Command, answer json.RawMessage) error {
		return show(c, cmd.OutOrStdout(), answer, func(got struct {
			Key      string
			Found    *bool
			Value    json.RawMessage
			Settings map[string]json.RawMessage
		}) error {
			out := cmd.OutOrStdout()
			if got.Found != nil {
				if !*got.Found {
					return fmt.Errorf("there is no setting %s", got.Key)
				}
				_, err := fmt.Fprintln(out, string(got.Value))
				return err
			}
			var rows [][]string
			for key, value := range got.Settings {
				rows = append(rows, []string{key, string(value)})
			}
			sortRows(rows)
			return table(out, []string{"SETTING", "VALUE"}, rows)
		})
	}
	get := c.one("get SESSION [KEY]", "Show the settings of a session, or one of them",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			at := scope()
			params := &client.GetSessionSettingsParams{Scope: &at}
			if len(args) > 1 {
				params.Key = &args[1]
			}
			answer, err := read[json.RawMessage](api.GetSessionSettings(cmd.Context(), args[0], params))
			if err != nil {
				return err
			}
			return told(cmd, answer)
		})
	set := c.one("set SESSION KEY VALUE", "Write a setting; VALUE is JSON, or else a text",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			value := json.RawMessage(args[2])
			if !json.Valid(value) {
				encoded, err := json.Marshal(args[2])
				if err != nil {
					return err
				}
				value = encoded
			}
			body, err := json.Marshal(map[string]any{"scope": scope(), "key": args[1], "value": value})
			if err != nil {
				return err
			}
			answer, err := read[json.RawMessage](api.SetSessionSettingsWithBody(cmd.Context(), args[0], "application/json",
				strings.NewReader(string(body))))
			if err != nil {
				return err
			}
			return told(cmd, answer)
		})
	unset := c.one("unset SESSION KEY", "Remove a setting",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			at := scope()
			answer, err := read[json.RawMessage](api.DeleteSessionSetting(cmd.Context(), args[0], args[1],
				&client.DeleteSessionSettingParams{Scope: &at}))
			if err != nil {
				return err
			}
			return told(cmd, answer)
		})
	cmd := group("settings", "Show and change the free-form settings of a session", get, set, unset)
	cmd.PersistentFlags().BoolVar(&defaults, "defaults", false, "what new sessions start with instead")
	return cmd
}

func (c *commands) runtimes() *cobra.Command {
	return c.one("status", "Show the runtimes of a server: state, version, login and what to do",
		func(cmd *cobra.Command, api *client.Client, _ []string) error {
			answer, err := read[json.RawMessage](api.ListRuntimes(cmd.Context()))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(told struct{ Data []client.Runtime }) error {
				var rows [][]string
				for _, r := range told.Data {
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
