package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"harness/api/calls"
	"harness/api/mcp"
	"harness/internal/content/artifact"
	"harness/internal/lib/version"
	"harness/internal/platform/config"
	"harness/internal/runtime"
	"harness/internal/runtime/process/confine"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/internal/services/tools"
	"harness/internal/services/tools/command"
	"harness/internal/services/tools/configured"
	"harness/internal/services/tools/fetch"
	"harness/internal/services/tools/ledger"
	"harness/internal/services/tools/mcphost"
	"harness/internal/services/tools/sandbox"
	"harness/internal/services/tools/workspace"
	"harness/server/datadir"
)

// MCPPath is the path at which agents reach the tools of this server.
const MCPPath = "/mcp"

// RunToolCommand is the subcommand of this program that runs a tool inside a sandbox.
const RunToolCommand = "run-tool"

// execTimeout bounds workspace.exec.
const execTimeout = 5 * time.Minute

// ownedTools are the tools that this server gives to agents; nil gives none.
type ownedTools struct {
	*core
	calls    *callLog
	policy   tools.Policy
	host     *mcphost.Host
	registry *tools.Registry
	// reached are the configured MCP servers' connections.
	reached []configured.Reached
}

// AllTools returns all tools, whether or not they are enabled.
func AllTools(limits workspace.Limits, programs, hosts []string) ([]tools.Tool, error) {
	exec, err := command.Tool(execTimeout, programs...)
	return append(workspace.Tools(limits), fetch.Tool(fetch.Options{Hosts: hosts}), exec), err
}

// chosenTools returns the tools that the configuration enables.
func chosenTools(cfg config.Tools, limits workspace.Limits, further ...tools.Tool) (*tools.Registry, error) {
	all, err := AllTools(limits, cfg.Programs, cfg.Hosts)
	if err != nil {
		return nil, config.Usagef("HARNESS_TOOLS_PROGRAMS: %w", err)
	}
	var chosen []tools.Tool
	for _, name := range cfg.Names {
		at := slices.IndexFunc(all, func(t tools.Tool) bool { return t.Name == name })
		if at < 0 {
			return nil, config.Usagef("HARNESS_TOOLS names the unknown tool %q; this server has %s", name,
				strings.Join(namesOfTools(all), ", "))
		}
		chosen = append(chosen, all[at])
	}
	if slices.Contains(cfg.Names, command.Name) && len(cfg.Programs) == 0 {
		return nil, config.Usagef("%s may run no program: name some in HARNESS_TOOLS_PROGRAMS, or leave it out of HARNESS_TOOLS",
			command.Name)
	}
	own, err := configured.Tools(cfg.Commands)
	if err != nil {
		return nil, config.Usagef("HARNESS_TOOLS_COMMANDS: %w", err)
	}
	chosen = slices.Concat(chosen, own, further)
	// Naming a tool enables its class.
	registry, err := tools.NewRegistry(tools.RegistryOptions{AllowDangerous: true, AllowNetwork: true}, chosen...)
	if err != nil {
		return nil, config.Usagef("HARNESS_TOOLS, _COMMANDS, _SERVERS: %w", err)
	}
	return registry, nil
}

func namesOfTools(all []tools.Tool) (names []string) {
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names
}

// toolPolicy returns the configured policy for calls.
func toolPolicy(cfg config.Tools, yolo bool) (tools.Policy, error) {
	policy := tools.Policy{Mode: tools.Mode(cfg.Mode)}
	split := func(words []string) (names []string, classes []tools.Class, err error) {
		for _, word := range words {
			switch {
			case slices.Contains(tools.Classes(), tools.Class(word)):
				classes = append(classes, tools.Class(word))
			case strings.Contains(word, "."):
				names = append(names, word)
			default:
				return nil, nil, fmt.Errorf("HARNESS_TOOLS_RULES: %q is neither a tool nor a class; the classes are %v", word,
					tools.Classes())
			}
		}
		return names, classes, nil
	}
	var err, denyErr error
	policy.AllowTools, policy.AllowClasses, err = split(cfg.Allow)
	policy.DenyTools, policy.DenyClasses, denyErr = split(cfg.Deny)
	if err := errors.Join(err, denyErr, tools.CheckPolicy(policy, yolo)); err != nil {
		return policy, &config.UsageError{Err: err}
	}
	return policy, nil
}

// startTools settles the calls that an earlier server left open, and makes the tools' endpoint.
func (s *Server) startTools(ctx context.Context) error {
	records := ledger.New(s.journal, s.dir.NodeID, s.now)
	if err := records.Recover(ctx); err != nil {
		return fmt.Errorf("settle the tool calls of an earlier server: %w", err)
	}
	if len(s.cfg.Tools.Names) == 0 && s.cfg.Tools.Commands == "" && s.cfg.Tools.Servers == "" &&
		len(s.cfg.Tools.Extensions) == 0 {
		return nil
	}
	for _, name := range s.cfg.Tools.Runtimes {
		if !slices.Contains(s.cfg.Runtimes, name) {
			return config.Usagef("HARNESS_TOOLS_RUNTIMES names %q, which is none of HARNESS_RUNTIMES (%s)", name,
				strings.Join(s.cfg.Runtimes, ", "))
		}
	}
	limits, err := s.ownPlaces()
	if err != nil {
		return fmt.Errorf("find what tools must not touch: %w", err)
	}
	served, unclassed, reached, err := configured.ServerTools(ctx, s.cfg.Tools.Servers)
	if err != nil {
		return config.Usagef("HARNESS_TOOLS_SERVERS: %w", err)
	}
	if len(unclassed) > 0 {
		s.log.Warn().Strs("tools", unclassed).
			Msg("tools of HARNESS_TOOLS_SERVERS have no class and are not given to agents; name theirs in classes")
	}
	for _, one := range reached {
		s.log.Info().Str("server", one.Server).Int("way", one.Way).Str("transport", one.Transport).
			Strs("failed", one.Failed).Msg("an MCP server of HARNESS_TOOLS_SERVERS answers")
	}
	registry, err := chosenTools(s.cfg.Tools, limits, served...)
	if err != nil {
		return err
	}
	owned := &ownedTools{core: s.core, calls: &s.calls, reached: reached}
	if owned.policy, err = toolPolicy(s.cfg.Tools, s.cfg.AllowYolo); err != nil {
		return err
	}
	in, err := s.sandboxes(limits)
	if err != nil {
		return err
	}
	executor := tools.NewExecutor(tools.Options{Registry: registry, Artifacts: toolResults{s.artifacts},
		Recorder: s.metrics.Work.CountCalls(records, registry, s.spans), Approver: toolApprover{s.sessions}, Sandboxes: in,
		Limits: map[tools.Class]tools.Limits{tools.Dangerous: {Hidden: limits.Hidden, MemoryBytes: 2 << 30, Processes: 256,
			CPUSeconds: 300}}})
	owned.registry = registry
	owned.host = mcphost.New(mcphost.Options{Executor: executor, Grants: s.agents.grants, Session: owned.session, Reads: s.journal,
		Version: version.Program(), Logger: s.log.With().Str("package", "mcphost").Logger()})
	s.runtimes.tools = owned
	return nil
}

// ownPlaces returns the server's own files that may be inside a workspace. Its data, its settings and people's tokens
// are hidden. The programs and files that it runs cannot be changed.
func (s *Server) ownPlaces() (limits workspace.Limits, err error) {
	for _, path := range append([]string{s.dir.Path, s.cfg.CredentialDir}, s.cfg.Files()...) {
		if path == "" {
			continue
		}
		place, err := datadir.RealPath(path)
		if errors.Is(err, fs.ErrNotExist) {
			place, err = datadir.EntryPlace(path) // tools must not create it
		}
		if err != nil {
			return limits, err
		}
		limits.Hidden = append(limits.Hidden, place)
	}
	limits.Hidden = append(limits.Hidden, s.access.hideSecrets()...)
	for _, root := range ExtensionRoots(s.cfg, s.workspace) {
		place, err := datadir.RealPath(root.Path)
		if errors.Is(err, fs.ErrNotExist) {
			place, err = datadir.EntryPlace(root.Path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // its parent folder does not exist either
		}
		if err != nil {
			return limits, err
		}
		limits.Fixed = append(limits.Fixed, place)
	}
	return limits, nil
}

// ToolPlace describes the agents' user and the server's own files to a process that runs tools as that user.
type ToolPlace struct {
	User          confine.Plan
	Hidden, Fixed []string
}

// sandboxes returns the sandbox for each class of tools. The server's own tools, which keep to the workspace, run in
// this process or as HARNESS_RUNTIME_USER: they can then do to files exactly what agents can. Programs run in the
// sandbox that the operator chose.
func (s *Server) sandboxes(limits workspace.Limits) (map[tools.Class]tools.Sandbox, error) {
	program, err := sandbox.Program(RunToolCommand)
	if err != nil {
		return nil, fmt.Errorf("find the program to run tools with: %w", err)
	}
	in := map[tools.Class]tools.Sandbox{}
	for _, class := range []tools.Class{tools.ReadOnly, tools.Write, tools.Network} {
		in[class] = tools.NewInProcess()
	}
	_, image, _ := strings.Cut(s.cfg.Tools.Sandbox, ":")
	docker := sandbox.NewDocker("", image, program...)
	in[tools.Dangerous] = docker
	if s.cfg.Tools.Sandbox == "bubblewrap" {
		in[tools.Dangerous] = sandbox.NewBubblewrap("", program...)
	}
	var agents Confinement
	if err := agents.BecomeUser(s.cfg.RuntimeUser, s.dir.Path); err != nil || !agents.Plan.User {
		return in, err
	}
	if s.cfg.Tools.Sandbox == "bubblewrap" && slices.Contains(s.cfg.Tools.Names, command.Name) {
		return nil, config.Usagef("%s runs as the server's user in bubblewrap, which is more than the agents of "+
			"HARNESS_RUNTIME_USER may: set HARNESS_TOOLS_SANDBOX=docker:IMAGE, or leave it out of HARNESS_TOOLS", command.Name)
	}
	within, err := json.Marshal(ToolPlace{agents.Plan, limits.Hidden, limits.Fixed})
	if err != nil {
		return nil, err
	}
	in[tools.ReadOnly] = sandbox.NewUser(append(slices.Clone(program), string(within))...)
	in[tools.Write] = in[tools.ReadOnly]
	docker.As(agents.Plan.UID, agents.Plan.GID)
	return in, nil
}

// session returns a call's data about its session. The levels of the session apply to these tools, too.
func (o *ownedTools) session(ctx context.Context, id string) (mcphost.Session, error) {
	stored, err := o.sessions.Conversations.Lookup(ctx, id)
	if err == nil {
		err = o.sessions.Ownership.CheckOwner(stored) // the agent of a moved session no longer belongs to it
	}
	if err != nil {
		return mcphost.Session{}, err
	}
	adapter, err := o.sessions.Registry.Chosen(stored.Runtime)
	if err != nil {
		return mcphost.Session{}, err
	}
	return mcphost.Session{Workspace: stored.Cwd, TurnID: o.sessions.TurnFinder.CallingTurn(ctx, id), Epoch: stored.Epoch,
		Policy: o.policy.Within(levels(stored.Controls)), MaxCalls: runtime.CapabilitiesOf(adapter).MaxToolCalls()}, nil
}

func levels(c session.Controls) tools.Levels {
	return tools.Levels{ApprovalPolicy: c.ApprovalPolicy, FilesystemSandbox: c.FilesystemSandbox, NetworkAccess: c.NetworkAccess,
		NonInteractive: c.NonInteractive}
}

// toolApprover requests approvals through sessions.
type toolApprover struct{ *manager.Service }

// Ask implements tools.Approver.
func (a toolApprover) Ask(ctx context.Context, call tools.Call, class tools.Class, description string) (
	tools.Answer, error) {
	answer, err := a.AskAboutTool(ctx, session.ToolQuestion{SessionID: call.SessionID, TurnID: call.TurnID,
		CallID: call.ID, Tool: call.Tool, Arguments: call.Input, Reason: fmt.Sprintf("%s (%s)", description, class)})
	return tools.Answer(answer), err
}

// toolResults stores results that are too long for an event, and reads the content that inputs refer to.
type toolResults struct{ *artifact.Store }

// Content implements tools.Artifacts.
func (r toolResults) Content(ctx context.Context, call tools.Call, id string) ([]byte, error) {
	ref, content, err := r.Open(ctx, id)
	if err == nil && ref.SessionID != call.SessionID {
		err = errors.Join(artifact.ErrNotFound, content.Close()) // the agent may not read another session's content
	}
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, tools.Failf("this session has no artifact %s", id)
	}
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(content) // the size was limited when it was stored
	return all, errors.Join(err, content.Close())
}

// Keep implements tools.Artifacts.
func (r toolResults) Keep(ctx context.Context, call tools.Call, name, contentType string, content []byte) (
	json.RawMessage, error) {
	ref, err := r.Put(ctx, call.SessionID, name, contentType, content)
	if err != nil {
		return nil, err
	}
	return json.Marshal(ref)
}

// nameFor returns the tools' name for a runtime's agents, "" for none.
func (o *ownedTools) nameFor(runtimeName string) string {
	if o == nil || !givesTools(o.cfg, runtimeName) {
		return ""
	}
	return mcphost.ServerName
}

// givesTools reports whether the agents of a runtime are given MCP servers.
func givesTools(cfg *config.Config, runtimeName string) bool {
	return len(cfg.Tools.Runtimes) == 0 || slices.Contains(cfg.Tools.Runtimes, runtimeName)
}

// controlFor returns the control's name for a runtime's agents, "" for none.
func controlFor(cfg *config.Config, runtimeName string) string {
	if cfg.ControlAgents == "off" || !cfg.HasDoor(config.DoorMCP) || !givesTools(cfg, runtimeName) {
		return ""
	}
	return mcp.ServerName
}

// manifest describes the tools, nil without tools.
func (o *ownedTools) manifest() *tools.Manifest {
	if o == nil {
		return nil
	}
	m := o.registry.Manifest()
	return &m
}

// servers returns how this server reaches the MCP servers whose tools it offers.
func (o *ownedTools) servers() []configured.Reached {
	if o == nil {
		return nil
	}
	return o.reached
}

// route returns the route of the tools' endpoint for the audit log. Tool calls have rows of their own.
func (o *ownedTools) route(r *http.Request) (calls.Route, bool) {
	return calls.Route{Protocol: "mcp", Name: r.Method + " " + MCPPath, OwnRecords: true}, o != nil && r.URL.Path == MCPPath
}

// beside serves the tools' endpoint behind the common guard; next serves all other requests.
func (o *ownedTools) beside(guard func(http.Handler) http.Handler, next http.Handler) http.Handler {
	if o == nil {
		return next
	}
	door := o.calls.recorded(guard, o.route, o.host)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == MCPPath {
			door.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
