package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/internal/lib/trust"
	"harness/internal/platform/config"
	"harness/internal/services/tools"
)

// ExtensionTools offers the tools of extensions to agents, beside the server's own.
type ExtensionTools struct {
	Names    []string // extensions that may offer tools, "*" for all
	Registry *tools.Registry
	Log      zerolog.Logger
}

// extensionTools returns the tools of this server's extensions; nil if no extension may offer tools.
func (s *extensionParts) extensionTools() extensions.AgentTools {
	if s.runtimes.tools == nil || len(s.cfg.Tools.Extensions) == 0 {
		return nil
	}
	return ExtensionTools{s.cfg.Tools.Extensions, s.runtimes.tools.registry,
		s.log.With().Str("package", "extensions").Logger()}
}

// Gives implements extensions.AgentTools.
func (e ExtensionTools) Gives(extension string) bool {
	return slices.Contains(e.Names, extension) || slices.Contains(e.Names, "*")
}

// Check implements extensions.AgentTools.
func (e ExtensionTools) Check(all []extensions.Tool) error { return e.Registry.Check(asTools(all)...) }

// Use implements extensions.AgentTools.
func (e ExtensionTools) Use(all []extensions.Tool) {
	if err := e.Registry.Use(asTools(all)...); err != nil {
		e.Log.Error().Err(err).Msg("the tools of the extensions that are loaded now are not given to agents")
		return
	}
	if len(all) > 0 {
		names := make([]string, len(all))
		for i, one := range all {
			names[i] = one.Name
		}
		e.Log.Info().Strs("tools", names).Msg("agents are given tools of extensions")
	}
}

// asTools converts tools of extensions to tools of the server. They run where their extension runs, and in no other
// sandbox.
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

// TemporaryHosts makes extension hosts for one command.
func TemporaryHosts(ctx context.Context, passEnv []string, do func([]extensions.Host) error) (err error) {
	dir, err := os.MkdirTemp("", "harness-extensions-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	hosts, err := extensionHosts(ctx, dir, passEnv, nil, zerolog.Nop())
	if err != nil {
		return err
	}
	return do(hosts)
}

// ProcessExtensions returns the extensions that run in a process, by folder with their hash. It starts none of them,
// but loads sandboxed ones into the sandbox to detect them. only is the one folder to check, "" for all.
func ProcessExtensions(ctx context.Context, roots []extensions.Root, only string) (hashes map[string]string,
	problems []error, err error) {
	hashes = map[string]string{}
	var mu sync.Mutex
	note := func(folder string, further []string) error {
		hash, err := trust.HashFolder(folder, further)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			problems = append(problems, err)
			return err
		}
		hashes[folder] = hash
		return errors.New("this only finds it")
	}
	err = TemporaryHosts(ctx, nil, func(hosts []extensions.Host) (err error) {
		registry := extensions.New(extensions.Options{
			Roots: roots, Only: only, Hosts: hosts, Trust: extensions.TrustPolicy{Consent: note}, Runtimes: RuntimeNames(),
			Logger: zerolog.Nop(),
		})
		defer func() { err = errors.Join(err, registry.Close(context.WithoutCancel(ctx))) }()
		result := registry.Reload(ctx, "trust")
		mu.Lock()
		defer mu.Unlock()
		for _, problem := range result.Errors {
			if !errors.Is(problem, extensions.ErrNoConsent) { // the missing consent is a refusal of this server
				problems = append(problems, problem)
			}
		}
		if only != "" && len(hashes) == 0 && len(result.Errors) == 0 && len(result.Modules) == 0 {
			return config.Usagef("there is no extension in %s", only)
		}
		return nil
	})
	return hashes, problems, err
}
