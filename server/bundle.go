package server

import (
	"cmp"
	"context"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"harness/internal/lib/version"
	"harness/internal/operations"
	"harness/internal/platform/config"
	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/claude"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/opencode"
	"harness/internal/services/bundle"
	"harness/internal/services/session"
	"harness/internal/services/session/nativelog"
	"harness/internal/services/tasks"
	"harness/internal/services/tools"
	"harness/internal/services/tools/configured"
	"harness/migrations"
)

// minSecret is the minimum length of a secret variable's value, in bytes: shorter values are ordinary words.
const minSecret = 6

// bundles creates the support bundles of this server.
func (s *Server) bundles(ops *operations.Service, native *nativelog.Ring) *bundle.Service {
	secrets := s.cfg.Secrets()
	for _, set := range os.Environ() { // includes variables that are not settings
		if name, value, _ := strings.Cut(set, "="); len(value) >= minSecret && bundle.NamesSecret(name) {
			secrets = append(secrets, value)
		}
	}
	lines := func(_ context.Context, sessionID string) ([]string, error) { return native.Tail(sessionID) }
	if s.cfg.KeepNative == session.NativeAll {
		lines = func(ctx context.Context, sessionID string) ([]string, error) {
			return nativelog.Stored(ctx, s.journal, sessionID)
		}
	}
	return bundle.New(bundle.Options{DB: s.db, Journal: s.journal, Tasks: s.tasks, Operations: ops,
		Artifacts: s.artifacts, Native: lines, Secrets: secrets, Version: version.Program(),
		Facts: func(ctx context.Context, sessionID string) ([]bundle.Fact, error) {
			return s.facts(ctx, ops, sessionID)
		}})
}

// runtimeFacts are the facts about one runtime.
type runtimeFacts struct {
	Name    string             `json:"name"`
	Default bool               `json:"default"`
	Status  runtime.Status     `json:"status"`
	Auth    runtime.AuthStatus `json:"auth"`
	Load    session.Load       `json:"load"`
}

// mcpFacts describes how tools of this server reach an agent.
type mcpFacts struct {
	// Supported is by runtime, "none" for a runtime that cannot use this server's tools. Chosen is the value of the
	// session's runtime.
	Supported map[string]string `json:"supported"`
	Chosen    string            `json:"chosen"`
	Tools     *tools.Manifest   `json:"tools"`
	// Reached lists how this server reaches the MCP servers whose tools it offers.
	Reached []configured.Reached `json:"reached"`
}

// facts returns this server's facts for a bundle.
func (s *Server) facts(ctx context.Context, ops *operations.Service, sessionID string) ([]bundle.Fact, error) {
	about, err := ops.Find(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	all, err := ops.Runtimes(ctx)
	if err != nil {
		return nil, err
	}
	health := struct {
		Ready    bool           `json:"ready"`
		Head     int64          `json:"journal_head"`
		Runtimes []runtimeFacts `json:"runtimes"`
	}{Ready: s.ready.Load(), Head: s.journal.Head()}
	capabilities, versions := map[string]runtime.Capabilities{}, map[string]string{}
	mcp := mcpFacts{Supported: map[string]string{}, Tools: s.runtimes.tools.manifest(), Reached: s.runtimes.tools.servers()}
	for _, one := range all {
		health.Runtimes = append(health.Runtimes, runtimeFacts{one.Name, one.Default, one.Status, one.Auth, one.Load})
		capabilities[one.Name], versions[one.Name] = one.Capabilities, one.Status.Version
		mcp.Supported[one.Name] = cmp.Or(one.Capabilities.OwnedTools, runtime.OwnedNone)
	}
	mcp.Chosen = cmp.Or(mcp.Supported[about.Runtime], runtime.OwnedNone)
	sources, err := ops.Sources(ctx, sessionID)
	if err != nil {
		sources = session.Sources{} // make a bundle even if a runtime is off or broken
	}
	configuration := struct {
		Settings []config.Setting `json:"settings"`
		Unknown  []string         `json:"unknown"`
		DataDir  string           `json:"data_dir"`
		Sources  session.Sources  `json:"implicit_sources"`
		Unread   string           `json:"implicit_sources_error,omitempty"`
	}{s.cfg.Set(), s.cfg.Unknown(), s.dir.Path, sources, reasonOf(err)}
	schema, err := migrations.Inspect(ctx, s.db)
	if err != nil {
		return nil, err
	}
	build, _ := debug.ReadBuildInfo()
	modules := map[string]string{}
	if build != nil {
		for _, dependency := range build.Deps {
			modules[dependency.Path] = dependency.Version
		}
	}
	return []bundle.Fact{
		{Name: "health", Value: health},
		{Name: "capabilities", Value: capabilities},
		{Name: "versions", Value: map[string]any{"harness": version.Program(), "go": goruntime.Version(), "os": goruntime.GOOS,
			"arch": goruntime.GOARCH, "schema": schema.From, "database": s.db.Engine(), "contract": tasks.ContractVersion,
			"runtimes": versions, "modules": modules}},
		{Name: "configuration", Value: configuration},
		{Name: "mcp", Value: mcp},
		{Name: "session", Value: about},
	}, nil
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// AdapterOf returns the adapter that replays a runtime's lines.
func AdapterOf(name string) bundle.Adapter {
	switch {
	case name == codex.Name:
		return bundle.Adapter{Read: codex.Read}
	case name == claude.Name:
		return bundle.Adapter{Translate: claude.Replay}
	case name == opencode.Name:
		return bundle.Adapter{Translate: opencode.Replay}
	case strings.HasPrefix(name, acp.ConfiguredPrefix): // its command line and its modes do not affect its lines
		return bundle.Adapter{Translate: acp.Profile{Name: name}.Replay}
	}
	for _, profile := range acp.Shipped() {
		if profile.Name == name {
			return bundle.Adapter{Translate: profile.Replay}
		}
	}
	return bundle.Adapter{}
}
