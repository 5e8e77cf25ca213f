package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"harness/internal/platform/auth"
	"harness/internal/platform/config"
	"harness/internal/platform/telemetry"
)

func newServe(further []runtimeMaker) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the REST API and the websocket stream",
		Long: "Serve the REST API and the websocket stream.\n\nWith no configuration the server listens on " +
			"127.0.0.1:3001, keeps its state in .data (SQLite) and\n" +
			"runs `codex` from PATH. Every setting is a flag, a name in the environment and a key of the configuration\n" +
			"file: harness serve --help-all, harness config print",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				config.ShowAllFlags(cmd.Flags())
				return cmd.Help()
			}
			cfg, err := loadConfig(cmd.Flags())
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, further, serving{})
		},
	}
	config.AddFlags(cmd.Flags())
	config.ShowCommonFlags(cmd.Flags())
	cmd.Flags().BoolVar(&all, "help-all", false, "show every setting")
	return cmd
}

// serving is how a server differs for who starts it.
type serving struct {
	// ready, when set, is called with the URL when requests are served.
	ready func(url string) error
	// front is Server.front, embedded Server.embedded.
	front    func(http.Handler) http.Handler
	embedded bool
}

// serve runs until ctx ends (SIGINT, SIGTERM) or a part fails.
func serve(ctx context.Context, cfg *config.Config, further []runtimeMaker, as serving) error {
	endsItself(ctx)
	if err := auth.CheckBind(cfg.Host, cfg.AuthToken != "", cfg.InsecureNoAuth); err != nil {
		return err
	}
	defer collectLess()()
	log := telemetry.NewLogger(telemetry.LogOptions{Level: cfg.LogLevel, Format: cfg.LogFormat, Out: os.Stderr,
		Secrets: cfg.Secrets()})
	for _, name := range cfg.Unknown() {
		log.Warn().Str("name", name).Str("nearest", config.Nearest(name)).
			Msg("this name in the environment or .env is no setting and has no effect; harness config print lists them")
	}
	keepWithinContainer(log)
	if err := keepPrivate(); err != nil {
		return err
	}
	workspace, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	server := NewServer(cfg, workspace, log, further...)
	server.front, server.embedded = as.front, as.embedded
	if err := server.Start(ctx); err != nil {
		return errors.Join(err, server.Stop())
	}
	log.Info().Str("url", server.URL()).Str("data", cfg.DataDir).Str("node", server.dir.nodeID).
		Msg("harness is serving: " + server.URL() +
			"/readyz tells what is missing, if anything; open a session with  curl -X POST " + server.URL() + "/api/sessions")
	server.sayAccess(os.Stderr)
	if as.ready != nil {
		if err := as.ready(server.URL()); err != nil {
			return errors.Join(err, server.Stop())
		}
	}
	var failed error
	select {
	case <-ctx.Done():
		log.Info().Msg("stopping; a second signal ends the process at once")
	case failed = <-server.Failed():
	}
	return errors.Join(failed, server.Stop())
}
