package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/internal/services/tools"
)

// extensionTools gives the tools of extensions to agents, beside the server's own.
type extensionTools struct {
	names    []string // of extensions that may have tools, "*" for all
	registry *tools.Registry
	log      zerolog.Logger
}

// extensionTools are those of this server; nil where no extension may have tools.
func (s *Server) extensionTools() extensions.AgentTools {
	if s.tools == nil || len(s.cfg.Tools.Extensions) == 0 {
		return nil
	}
	return extensionTools{s.cfg.Tools.Extensions, s.tools.registry,
		s.log.With().Str("package", "extensions").Logger()}
}

// Gives implements extensions.AgentTools.
func (e extensionTools) Gives(extension string) bool {
	return slices.Contains(e.names, extension) || slices.Contains(e.names, "*")
}

// Check implements extensions.AgentTools.
func (e extensionTools) Check(all []extensions.Tool) error { return e.registry.Check(asTools(all)...) }

// Use implements extensions.AgentTools.
func (e extensionTools) Use(all []extensions.Tool) {
	if err := e.registry.Use(asTools(all)...); err != nil {
		e.log.Error().Err(err).Msg("the tools of the extensions that are loaded now are not given to agents")
		return
	}
	if len(all) > 0 {
		names := make([]string, len(all))
		for i, one := range all {
			names[i] = one.Name
		}
		e.log.Info().Strs("tools", names).Msg("agents are given tools of extensions")
	}
}

// asTools are tools of extensions as the server's. They run where their extension does, and in no other sandbox.
func asTools(all []extensions.Tool) []tools.Tool {
	out := make([]tools.Tool, len(all))
	for i, one := range all {
		out[i] = tools.Tool{Name: one.Name, Description: one.Description, Class: tools.Class(one.Class), Input: one.Input,
			Output: one.Output, Timeout: one.Timeout, Unheld: true,
			Run: func(ctx context.Context, job tools.Job) (json.RawMessage, error) {
				return one.Run(ctx, extensions.ToolCall{SessionID: job.SessionID, TurnID: job.TurnID, Workspace: job.Workspace,
					Input: job.Input})
			}}
	}
	return out
}
