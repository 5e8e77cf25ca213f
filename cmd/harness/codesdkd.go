package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"harness/internal/platform/config"
	"harness/server"
	"harness/server/datadir"
)

// codesdkdName is the command that replaces the codesdkd daemon.
const codesdkdName = "codesdkd"

// embeddedTools returns the server's tools that sessions get by default if no setting names others: their agents have
// no native tools unless a session requests them.
func embeddedTools() []string {
	return []string{"workspace.read", "workspace.list", "workspace.write", "patch.apply"}
}

// embedded sets the defaults of a server that belongs to one program. Such a server offers its tools, and stores the
// home of codex below its data directory, like the homes of the other runtimes. It keeps the operator's settings.
func embedded(cfg *config.Config) error {
	if cfg.Source("HARNESS_TOOLS") == config.SourceDefault {
		cfg.Tools.Names = embeddedTools()
	}
	if cfg.Source("CODEX_HOME") != config.SourceDefault || cfg.RuntimeUser != "" {
		return nil
	}
	home, err := filepath.Abs(filepath.Join(cfg.DataDir, "codex"))
	if err == nil {
		err = os.MkdirAll(home, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make the home of codex: %w", err)
	}
	cfg.CodexHome = home
	return nil
}

// newCodesdkd makes the command that replaces the codesdkd daemon: embedding programs start it and read its URL.
func newCodesdkd(further []server.RuntimeMaker) *cobra.Command {
	var workspace, mode string
	cmd := &cobra.Command{
		Use:   "codesdkd --data-dir DIR",
		Short: "Serve the task API to the program that starts it, and print its URL",
		Long: "Serve the task API to the program that starts it, on a free port of 127.0.0.1 unless --host and --port say\n" +
			"otherwise. When it takes requests it prints one line of JSON: {\"url\":\"http://127.0.0.1:PORT\"}.\n" +
			"The task API is behind that URL with and without /v1. Everything `harness serve` serves is there, too.\n" +
			"It ends with 0 on SIGTERM, 130 on SIGINT, and 1 with flags that cannot be used.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := cmd.Flags()
			if flags.Lookup("data-dir").Value.String() == "" || !flags.Changed("data-dir") {
				return config.Usagef("--data-dir is required: name the folder to keep sessions, tasks and artifacts in")
			}
			settings := map[string]string{"workspace": workspace, "tasks-mode": mode}
			for _, name := range []string{"runtimes", "default-runtime"} {
				if flags.Changed(name) {
					settings[name] = plainNames(flags.Lookup(name).Value.String())
				}
			}
			if !flags.Changed("port") {
				settings["port"] = "0"
			}
			for name, value := range settings {
				if value == "" {
					continue
				}
				if err := flags.Set(name, value); err != nil {
					return config.Usagef("--%s: %w", name, err)
				}
			}
			cfg, err := datadir.LoadConfig(flags)
			if err != nil {
				return err
			}
			if err := embedded(cfg); err != nil {
				return err
			}
			endsItself(cmd.Context())
			err = server.Run(cmd.Context(), cfg, further, server.Options{Front: atRoot, Embedded: true, Ready: func(url string) error {
				line, err := json.Marshal(map[string]string{"url": url})
				if err == nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
				}
				return err
			}})
			if err == nil && errors.Is(context.Cause(cmd.Context()), errInterrupted) {
				return &endError{code: exitInterrupted}
			}
			return err
		},
	}
	config.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&workspace, "workspace-root", "", "as --workspace")
	cmd.Flags().StringVar(&mode, "default-permission-mode", "", "as --tasks-mode: ask, auto or yolo")
	return cmd
}

// plainNames converts codesdkd's names of runtimes (claude-agent-sdk, codex-sdk) to the names used here.
func plainNames(list string) string {
	names := strings.Split(list, ",")
	for i, name := range names {
		for _, suffix := range []string{"-agent-sdk", "-sdk", "-cli-core", "-server"} {
			name = strings.TrimSuffix(strings.TrimSpace(name), suffix)
		}
		names[i] = name
	}
	return strings.Join(names, ",")
}
