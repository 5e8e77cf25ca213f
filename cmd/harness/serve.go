package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"harness/auth"
	"harness/config"
	"harness/telemetry"
)

func newServe(further []runtimeMaker) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the REST API and the websocket stream",
		Long: "Serve the REST API and the websocket stream.\n\nWith no configuration the server listens on " +
			"127.0.0.1:3001, keeps its state in .data (SQLite) and\n" +
			"runs `codex` from PATH. Every setting: harness config print",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, further, func(string) error { return nil })
		},
	}
	config.AddFlags(cmd.Flags())
	return cmd
}

// serve runs until ctx ends (SIGINT, SIGTERM) or a part fails. serving is told the URL when requests are served.
func serve(ctx context.Context, cfg *config.Config, further []runtimeMaker, serving func(url string) error) error {
	if err := auth.CheckBind(cfg.Host, cfg.AuthToken != "", cfg.InsecureNoAuth); err != nil {
		return err
	}
	defer collectLess()()
	log := telemetry.NewLogger(telemetry.LogOptions{Level: cfg.LogLevel, Format: cfg.LogFormat, Out: os.Stderr,
		Secrets: cfg.Secrets()})
	for _, name := range cfg.Unknown() {
		log.Warn().Str("name", name).
			Msg("this name in the environment or .env is no setting and has no effect; harness config print lists them")
	}
	if err := keepPrivate(); err != nil {
		return err
	}
	workspace, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	server := NewServer(cfg, workspace, log, further...)
	if err := server.Start(ctx); err != nil {
		return errors.Join(err, server.Stop())
	}
	log.Info().Str("url", server.URL()).Str("data", cfg.DataDir).Str("node", server.dir.nodeID).
		Msg("harness is serving: " + server.URL() +
			"/readyz tells what is missing, if anything; open a session with  curl -X POST " + server.URL() + "/api/sessions")
	if err := serving(server.URL()); err != nil {
		return errors.Join(err, server.Stop())
	}
	var failed error
	select {
	case <-ctx.Done():
		log.Info().Msg("stopping; a second signal ends the process at once")
	case failed = <-server.Failed():
	}
	return errors.Join(failed, server.Stop())
}
