package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"harness/config"
)

// newCodesdkd serves as the codesdkd daemon is started: embedding programs start it and read its URL.
func newCodesdkd(further []runtimeMaker) *cobra.Command {
	var workspace, mode string
	cmd := &cobra.Command{
		Use:   "codesdkd --data-dir DIR",
		Short: "Serve the task API to the program that starts it, and print its URL",
		Long: "Serve the task API to the program that starts it, on a free port of 127.0.0.1 unless --host and --port say\n" +
			"otherwise. When it takes requests it prints one line of JSON: {\"url\":\"http://127.0.0.1:PORT/v1\"}.\n" +
			"Everything `harness serve` serves is there, too.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := cmd.Flags()
			if flags.Lookup("data-dir").Value.String() == "" || !flags.Changed("data-dir") {
				return &usageError{errors.New("--data-dir is required: name the folder to keep sessions, tasks and artifacts in")}
			}
			settings := map[string]string{"workspace": workspace, "tasks-mode": mode}
			if !flags.Changed("port") {
				settings["port"] = "0"
			}
			for name, value := range settings {
				if value == "" {
					continue
				}
				if err := flags.Set(name, value); err != nil {
					return &usageError{fmt.Errorf("--%s: %w", name, err)}
				}
			}
			cfg, err := loadConfig(flags)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, further, func(url string) error {
				line, err := json.Marshal(map[string]string{"url": url + "/v1"})
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
				}
				return err
			})
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&workspace, "workspace-root", "", "as --workspace")
	cmd.Flags().StringVar(&mode, "default-permission-mode", "", "as --tasks-mode: ask, auto or yolo")
	return cmd
}
