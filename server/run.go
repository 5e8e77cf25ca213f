package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"harness/internal/platform/auth"
	"harness/internal/platform/config"
	"harness/internal/platform/telemetry"
	"harness/server/resources"
)

// Options are the choices of the calling program besides the settings. The zero value matches `harness serve`.
type Options struct {
	// Ready, if set, is called with the URL once the server accepts requests; its error stops the server.
	Ready func(url string) error
	// Front, if set, wraps all other handlers.
	Front func(http.Handler) http.Handler
	// Embedded servers belong to the program that started them and store nothing outside the data directory.
	Embedded bool
	// Terminal receives the link that logs in a browser; nil if no person reads it.
	Terminal io.Writer
}

// Run starts a server, runs it until ctx ends (SIGINT, SIGTERM) or a part fails, and stops it. The error says why it
// could not start, or which part failed. Run supports the further runtimes besides the built-in ones.
func Run(ctx context.Context, cfg *config.Config, further []RuntimeMaker, as Options) error {
	if err := auth.CheckBind(cfg.Host, cfg.AuthToken != "", cfg.InsecureNoAuth); err != nil {
		return err
	}
	defer resources.HoldHeap()()
	log := telemetry.NewLogger(telemetry.LogOptions{Level: cfg.LogLevel, Format: cfg.LogFormat, Out: os.Stderr,
		Secrets: cfg.Secrets()})
	for _, name := range cfg.Unknown() {
		log.Warn().Str("name", name).Str("nearest", config.Nearest(name)).
			Msg("this name in the environment or .env is no setting and has no effect; harness config print lists them")
	}
	resources.LimitMemory(log)
	if err := resources.KeepPrivate(); err != nil {
		return err
	}
	workspace, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	server := New(cfg, workspace, log, further...)
	server.front, server.embedded = as.Front, as.Embedded
	if err := server.Start(ctx); err != nil {
		return errors.Join(err, server.Stop())
	}
	log.Info().Str("url", server.URL()).Str("data", cfg.DataDir).Str("node", server.dir.NodeID).
		Msg("harness is serving: open " + server.URL() + " in a browser; " + server.URL() + "/readyz says what is missing, if anything")
	server.access.sayAccess(as.Terminal)
	if as.Ready != nil {
		if err := as.Ready(server.URL()); err != nil {
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
