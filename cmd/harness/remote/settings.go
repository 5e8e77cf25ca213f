package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

func (c *commands) settings() *cobra.Command {
	var defaults bool
	scope := func() client.Scope {
		if defaults {
			return "default"
		}
		return "session"
	}
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
			return c.showSettings(cmd, answer)
		})
	unset := c.one("unset SESSION KEY", "Remove a setting",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			at := scope()
			answer, err := read[json.RawMessage](api.DeleteSessionSetting(cmd.Context(), args[0], args[1],
				&client.DeleteSessionSettingParams{Scope: &at}))
			if err != nil {
				return err
			}
			return c.showSettings(cmd, answer)
		})
	cmd := group("settings", "Show and change the free-form settings of a session", c.getSettings(&defaults), set, unset)
	cmd.PersistentFlags().BoolVar(&defaults, "defaults", false, "what new sessions start with instead")
	return cmd
}

func (c *commands) getSettings(defaults *bool) *cobra.Command {
	cmd := c.one("get [SESSION] [KEY]", "Show the settings of a session, or one of them",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			if *defaults && len(args) < 2 {
				return c.getDefaults(cmd, api, args)
			}
			if len(args) == 0 {
				return usage("SESSION is missing: %s; --defaults shows what new sessions start with", cmd.UseLine())
			}
			at := client.Scope("session")
			if *defaults {
				at = "default"
			}
			params := &client.GetSessionSettingsParams{Scope: &at}
			if len(args) > 1 {
				params.Key = &args[1]
			}
			answer, err := read[json.RawMessage](api.GetSessionSettings(cmd.Context(), args[0], params))
			if err != nil {
				return err
			}
			return c.showSettings(cmd, answer)
		})
	cmd.Long = "Show the settings of a session, or one of them.\n\n" +
		"With --defaults it needs no session: `harness settings get --defaults`, or with a KEY behind it. That asks for what\n" +
		"the server runs with, which takes the role of an admin; who has less names a session and a key."
	cmd.ValidArgsFunction = c.completeSessions
	return cmd
}

// getDefaults shows the defaults of new sessions, in the format of a session's settings.
func (c *commands) getDefaults(cmd *cobra.Command, api *client.Client, args []string) error {
	server, err := read[struct {
		Defaults struct {
			Settings map[string]json.RawMessage `json:"settings"`
		} `json:"defaults"`
	}](api.ReadServerSettings(cmd.Context()))
	if err != nil {
		return err
	}
	shown := map[string]any{"status": "ok", "scope": "default", "settings": server.Defaults.Settings}
	if len(args) > 0 {
		value, found := server.Defaults.Settings[args[0]]
		shown = map[string]any{"status": "ok", "scope": "default", "key": args[0], "found": found}
		if found {
			shown["value"] = value
		}
	}
	answer, err := json.Marshal(shown)
	if err != nil {
		return err
	}
	return c.showSettings(cmd, answer)
}

// showSettings prints a response about settings: the requested one, or all of them.
func (c *commands) showSettings(cmd *cobra.Command, answer json.RawMessage) error {
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
