package extensions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"harness/extensions/sdk"
)

// loadsAtOnce is the maximum number of extensions that load concurrently.
const loadsAtOnce = 4

// build finds and loads all extensions concurrently and admits them in a deterministic order. The caller closes the
// returned modules; build closes refused ones.
func (r *Registry) build(ctx context.Context) ([]loaded, []*LoadError) {
	candidates, discovery := discover(r.opts.Roots)
	if r.opts.Only != "" {
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return c.root != r.opts.Only })
	}
	for _, err := range discovery {
		r.opts.Logger.Warn().Err(err).Msg("skipping an extension root")
	}
	modules, refused, problems := admitAgents(r.loadAll(ctx, candidates))
	modules, unfit, wrong := r.checkTools(modules)
	refused, problems = append(refused, unfit...), append(problems, wrong...)
	r.closeModules(refused)
	var untrusted []*LoadError
	for _, problem := range problems {
		if errors.Is(problem, ErrNoConsent) {
			untrusted = append(untrusted, problem)
		}
	}
	r.untrusted.Store(&untrusted)
	return modules, problems
}

// loadOutcome is a loaded extension or the reason why it did not load.
type loadOutcome struct {
	loaded  loaded
	problem *LoadError
}

// loadAll loads the native extensions and the candidates concurrently and keeps their order.
func (r *Registry) loadAll(ctx context.Context, candidates []candidate) []loadOutcome {
	outcomes := make([]loadOutcome, len(r.opts.Native)+len(candidates))
	var group sync.WaitGroup
	tokens := make(chan struct{}, loadsAtOnce)
	run := func(i int, load func(context.Context) (loaded, *LoadError)) {
		group.Go(func() {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			ctx, cancel := context.WithTimeout(ctx, r.opts.LoadTimeout)
			defer cancel()
			outcomes[i].loaded, outcomes[i].problem = load(ctx)
		})
	}
	for i, extension := range r.opts.Native {
		run(i, func(context.Context) (loaded, *LoadError) { return r.loadNative(extension) })
	}
	for i, c := range candidates {
		run(len(r.opts.Native)+i, func(ctx context.Context) (loaded, *LoadError) { return r.loadCandidate(ctx, c) })
	}
	group.Wait()
	return outcomes
}

// admitAgents keeps the first module of each agent ID.
func admitAgents(outcomes []loadOutcome) (modules, refused []loaded, problems []*LoadError) {
	owners := map[string]string{} // agentId -> module name
	for _, out := range outcomes {
		if out.problem != nil {
			problems = append(problems, out.problem)
			continue
		}
		info := out.loaded.info
		if owner, taken := owners[info.AgentID]; taken {
			problems = append(problems, &LoadError{Extension: info.Name, Code: AgentIDConflict,
				Message: fmt.Sprintf("agentId %q conflicts with module %s", info.AgentID, owner)})
			refused = append(refused, out.loaded)
			continue
		}
		owners[info.AgentID] = info.ModuleName
		modules = append(modules, out.loaded)
	}
	return modules, refused, problems
}

func (r *Registry) loadNative(extension sdk.Extension) (loaded, *LoadError) {
	fallback := func(value *string, other string) {
		if *value == "" {
			*value = other
		}
	}
	fallback(&extension.Name, extension.ModuleName)
	fallback(&extension.Version, "0.0.0")
	fallback(&extension.AgentID, extension.ModuleName)
	fallback(&extension.DisplayName, extension.Name)
	info := ModuleInfo{ModuleName: extension.ModuleName, Name: extension.Name, Version: extension.Version,
		AgentID: extension.AgentID, DisplayName: extension.DisplayName, EntrypointPath: "native:" + extension.ModuleName,
		Origin:        Origin{Type: NativeModule, Path: "native:" + extension.ModuleName},
		Compatibility: compatibility(nil, r.opts.Profile), Diagnostics: []string{}}
	var declared *Capabilities
	if extension.Events != nil || extension.Actions != nil {
		declared = &Capabilities{Events: extension.Events, Actions: extension.Actions}
	}
	module, err := loadNative(extension)
	return r.admit(info, declared, nil, module, err)
}

func (r *Registry) loadCandidate(ctx context.Context, c candidate) (loaded, *LoadError) {
	manifest, diagnostics, err := readManifest(c.root)
	if err != nil {
		return loaded{}, &LoadError{Extension: c.moduleName, Code: InvalidManifest, Message: err.Error()}
	}
	info := ModuleInfo{ModuleName: c.moduleName, Name: c.moduleName, Version: "0.0.0", AgentID: c.moduleName,
		DisplayName: c.moduleName, Origin: c.origin, Diagnostics: append([]string{}, diagnostics...)}
	if c.consent && r.opts.Trust.Consent != nil {
		if problem := r.consent(info.Name, "agents could write the folder it is in", c.sourceRoot, nil); problem != nil {
			return loaded{}, problem
		}
	}
	source := Source{ModuleName: c.moduleName, Root: c.root, SourceRoot: c.sourceRoot, Origin: c.origin, Trust: r.opts.Trust.Mode}
	var declared *Capabilities
	if manifest != nil {
		declared = manifest.Capabilities
		manifest.describe(filepath.Join(c.root, manifestFile), &info, &source)
	}
	source.Name, source.Version, source.AgentID = info.Name, info.Version, info.AgentID
	source.Consent = r.processConsent(info.Name, c.root)
	tools, err := r.toolsFor(manifest, &info)
	if err != nil {
		return loaded{}, &LoadError{Extension: info.Name, Code: InvalidManifest, Message: err.Error()}
	}
	refuse := func(code LoadCode, message string) (loaded, *LoadError) {
		return loaded{}, &LoadError{Extension: info.Name, Code: code, Message: message}
	}
	if agent := readAgentConfig(c.root, r.opts.Runtimes); agent != nil && agent.err != nil {
		info.Diagnostics = append(info.Diagnostics, "workers of this agent are refused: "+agent.err.Error())
	}
	file, notes := entrypoint(c, manifest, r.opts.Trust.Mode)
	info.Diagnostics = append(info.Diagnostics, notes...)
	if file == "" {
		if file = commandFile(source); file == "" {
			return refuse(MissingEntrypoint,
				strings.Join(append([]string{"no events entrypoint found for " + c.root}, notes...), "; "))
		}
	}
	info.EntrypointPath, source.Entrypoint = file, file
	info.Compatibility = compatibility(manifest, r.opts.Profile)
	if !info.Compatibility.Compatible {
		return refuse(IncompatibleRuntime, strings.Join(info.Compatibility.Reasons, "; "))
	}
	host, problem := r.hostFor(source)
	if problem != nil {
		return loaded{}, problem
	}
	module, err := host.Load(ctx, source)
	var needs *NeedsNodeError
	if source.Runtime.Host == "" && errors.As(err, &needs) {
		module, err = r.loadInNode(ctx, source, needs)
		info.Diagnostics = append(info.Diagnostics, fmt.Sprintf("runs in a Node process: %s", needs))
	}
	return r.admit(info, declared, tools, module, err)
}

// describe copies the declarations of the manifest at path.
func (m *Manifest) describe(path string, info *ModuleInfo, source *Source) {
	info.ManifestPath = &path
	info.Name, info.Version, info.AgentID, info.DisplayName = m.Name, m.Version, m.AgentID, m.DisplayName
	if m.Runtime != nil {
		source.Runtime = m.Runtime.Choice
	}
	if m.Capabilities != nil {
		source.HostCapabilities = m.Capabilities.Host
	}
}

// toolsFor returns the tools of a manifest, if the server offers them to agents.
func (r *Registry) toolsFor(manifest *Manifest, info *ModuleInfo) ([]Tool, error) {
	if manifest == nil || len(manifest.Tools) == 0 {
		return nil, nil
	}
	if r.opts.AgentTools == nil || !r.opts.AgentTools.Gives(info.Name) {
		info.Diagnostics = append(info.Diagnostics,
			"its tools are not given to agents: HARNESS_TOOLS has no extension:NAME of it")
		return nil, nil
	}
	return declaredTools(info.Name, manifest.Tools)
}

// consent checks the operator's consent to a folder; it returns a load error, nil with consent.
func (r *Registry) consent(name, why, folder string, further []string) *LoadError {
	if err := r.opts.Trust.Consent(folder, further); err != nil {
		return &LoadError{Extension: name, Code: TrustDenied, Reason: ErrNoConsent,
			Message: fmt.Sprintf("%s, and %s", why, err)}
	}
	return nil
}

// processConsent returns the function that a host calls before it starts a process for a folder, nil if no consent is
// needed.
func (r *Registry) processConsent(name, folder string) func(further []string) error {
	if r.opts.Trust.Consent == nil {
		return nil
	}
	return func(further []string) error {
		if problem := r.consent(name, "it runs in a process of its own", folder, further); problem != nil {
			return problem
		}
		return nil
	}
}

// nodeRemedy ends the error for an extension that needs Node but may not use it.
const nodeRemedy = `; or take that out and keep it in the server: "runtime": {"host": "embedded"} in its manifest`

// loadInNode loads an extension that names no host and needs Node. It needs the same consent as an extension whose
// manifest names Node.
func (r *Registry) loadInNode(ctx context.Context, source Source, needs *NeedsNodeError) (Module, error) {
	source.Runtime.Host = "node"
	host, problem := r.hostFor(source)
	if problem != nil {
		problem.Message = fmt.Sprintf("it needs Node: %s; %s%s", needs, problem.Message, nodeRemedy)
		return nil, problem
	}
	module, err := host.Load(ctx, source)
	if errors.Is(err, ErrNoNode) {
		return nil, &LoadError{Code: ImportFailed, Message: fmt.Sprintf(
			"it needs Node: %s; install Node 20 or later in the server's PATH%s",
			needs, nodeRemedy)}
	}
	return module, err
}

// commandFile returns the file in a process extension's command, for extensions without a default entrypoint.
func commandFile(source Source) string {
	for _, word := range source.Runtime.Command {
		if real, err := realPath(filepath.Join(source.Root, word)); err == nil && isFile(real) && within(source.Root, real) {
			return real
		}
	}
	return ""
}

// The kinds of host.
const (
	HostEmbedded = "embedded"
	HostProcess  = "process"
)

// hostFor chooses the host of an extension: the one that its manifest names, otherwise the embedded engine (loadInNode
// handles extensions that cannot run there).
func (r *Registry) hostFor(source Source) (Host, *LoadError) {
	kind := HostEmbedded
	switch source.Runtime.Host {
	case "", HostEmbedded:
	case "node", HostProcess:
		kind = HostProcess
	default:
		return nil, &LoadError{Extension: source.Name, Code: InvalidManifest,
			Message: fmt.Sprintf("runtime.host %q is unknown; use embedded, node or process", source.Runtime.Host)}
	}
	if kind == HostProcess && r.opts.Trust.Mode == TrustEnforced {
		if len(source.HostCapabilities) == 0 || !slices.Contains(r.opts.Trust.ProcessAllowed, source.Name) {
			return nil, &LoadError{Extension: source.Name, Code: TrustDenied, Message: fmt.Sprintf(
				"extension %s wants a process of its own: in trust mode enforced it must declare capabilities.host and be "+
					"allowed by the operator (HARNESS_EXTENSION_PROCESS_ALLOWED)",
				source.Name)}
		}
	}
	if host, ok := r.hosts[kind]; ok {
		return host, nil
	}
	return nil, &LoadError{Extension: source.Name, Code: ImportFailed,
		Message: fmt.Sprintf("this server has no %s host", kind)}
}

// admit checks a loaded module and closes it if it is refused.
func (r *Registry) admit(info ModuleInfo, declared *Capabilities, tools []Tool, module Module, err error) (loaded, *LoadError) {
	if err != nil {
		var problem *LoadError
		if !errors.As(err, &problem) {
			problem = &LoadError{Code: ImportFailed, Message: err.Error()}
		}
		return loaded{}, &LoadError{Extension: info.Name, Code: problem.Code, Message: problem.Message,
			Reason: problem.Reason}
	}
	if inspected, ok := module.(Inspected); ok {
		info.Missing = inspected.Missing()
		for _, one := range info.Missing {
			if !one.Guarded {
				info.Diagnostics = append(info.Diagnostics, one.String())
			}
		}
	}
	info.Events = events(module.Subscriptions())
	info.Capabilities = Capabilities{Events: []string{}, Actions: []string{}}
	if declared != nil {
		info.Capabilities = Capabilities{Events: nonNil(declared.Events), Actions: nonNil(declared.Actions),
			Host: declared.Host}
	}
	if err := handled(tools, info.Events); err != nil {
		r.closeAll([]Module{module})
		return loaded{}, &LoadError{Extension: info.Name, Code: RegistrationFailed, Message: err.Error()}
	}
	// The declaration of a tool covers the registration of its handler.
	registered := slices.DeleteFunc(slices.Clone(info.Events), func(event string) bool {
		return slices.ContainsFunc(tools, func(t Tool) bool { return t.handler == event })
	})
	info.Trust = evaluateTrust(r.opts.Trust.Mode, info.Name, declared, registered)
	if info.Trust.Status == TrustRefused {
		r.closeAll([]Module{module})
		return loaded{}, &LoadError{Extension: info.Name, Code: TrustDenied, Message: strings.Join(info.Trust.Errors, "; ")}
	}
	return loaded{info: info, module: module, declared: declared, tools: tools}, nil
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
