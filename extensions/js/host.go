// Package js runs extensions written in JavaScript or TypeScript inside the server: one QuickJS virtual machine per
// extension, owned by one goroutine. The machine has no authority except the tools that a handler gets.
//
// It owns the machine's lifecycle (load, run, interrupt, replace) and the messages between JavaScript and Go. It must
// never know what events mean, which extensions exist or what a tool does; those belong to the root package.
//
// How a misbehaving extension is limited (docs/extensions-hosts.md):
//   - JavaScript that runs too long is interrupted at the invocation's deadline and its machine is replaced;
//   - memory and stack are capped by the engine, results, calls, timers, log lines and the queue by this package;
//   - a native loop of the engine can not be interrupted: its machine is abandoned, a fresh one serves, and only a few
//     may be abandoned.
package js

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/hosting"
	"harness/extensions/js/bundle"
)

// Kind is the host's name.
const Kind = "embedded"

// Limits bound the resources of one extension. The zero value of a field selects its default.
type Limits struct {
	// Memory is the maximum heap of one machine in bytes, default 64 MiB.
	Memory int
	// MaxTurn is the maximum time that JavaScript may run without yielding if no shorter limit applies, default 30 s.
	MaxTurn time.Duration
	// AfterTurn bounds the code that runs after the end of an invocation (finally blocks), default 250 ms.
	AfterTurn time.Duration
	// Grace is the time that a machine may still be busy after its limit before it counts as stuck, default 250 ms.
	Grace time.Duration
	// LoadTimeout bounds loading, default 10 s.
	LoadTimeout time.Duration
	// MaxResult is the maximum length of a result, tool argument or event of tools in characters, default 1 Mi.
	MaxResult int
	// MaxCalls, MaxTimers and MaxHandlers limit the pending calls, timers and handlers of one machine, defaults 256,
	// 1000 and 1000.
	MaxCalls, MaxTimers, MaxHandlers int
	// MaxQueue is the maximum number of queued events of the extension, default 1024.
	MaxQueue int
	// MaxLogLines is the maximum number of log lines per invocation, default 200.
	MaxLogLines int
	// MaxStuck and MaxStuckTotal are the maximum numbers of abandoned machines, of one extension and of all, defaults 2
	// and 4. Each uses a processor core and up to Memory until its loop ends.
	MaxStuck, MaxStuckTotal int
}

func (l Limits) withDefaults() Limits {
	set(&l.Memory, 64<<20)
	set(&l.MaxTurn, 30*time.Second)
	set(&l.AfterTurn, 250*time.Millisecond)
	set(&l.Grace, 250*time.Millisecond)
	set(&l.LoadTimeout, 10*time.Second)
	set(&l.MaxResult, 1<<20)
	set(&l.MaxCalls, 256)
	set(&l.MaxTimers, 1000)
	set(&l.MaxHandlers, 1000)
	set(&l.MaxQueue, 1024)
	set(&l.MaxLogLines, 200)
	set(&l.MaxStuck, 2)
	set(&l.MaxStuckTotal, 4)
	return l
}

func set[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Options configure a Host.
type Options struct {
	Limits Limits
	// Own returns this server's address ("host:port"), which fetch must not reach; nil for none.
	Own func() string
	// Logger receives log lines of extensions outside an invocation, and the events of their machines.
	Logger zerolog.Logger
}

// Host loads embedded extensions. It implements extensions.Host.
type Host struct {
	limits Limits
	log    zerolog.Logger
	// stuck counts the abandoned machines of all extensions.
	stuck atomic.Int32
	// globals returns the names that a machine has; prelude returns its compiled prelude. Both are made once.
	globals func() (map[string]bool, error)
	prelude func() ([]byte, error)
	own     func() string
}

// New makes a host.
func New(o Options) *Host {
	h := &Host{limits: o.Limits.withDefaults(), log: o.Logger, own: o.Own}
	h.globals, h.prelude = sync.OnceValues(h.globalNames), sync.OnceValues(compilePrelude)
	return h
}

func (h *Host) newEngine(settings []byte, call hostCall) (*engine, error) {
	prelude, err := h.prelude()
	if err != nil {
		return nil, err
	}
	return newEngine(h.limits.Memory, prelude, settings, call)
}

// Kind implements extensions.Host.
func (h *Host) Kind() string { return Kind }

// Stuck returns the number of machines that were abandoned in a native loop and still run.
func (h *Host) Stuck() int { return int(h.stuck.Load()) }

// Load bundles the extension, evaluates it in a new machine and calls its registerAgentEvents.
func (h *Host) Load(ctx context.Context, source extensions.Source) (extensions.Module, error) {
	ctx, cancel := context.WithTimeout(ctx, h.limits.LoadTimeout)
	defer cancel()
	rules, err := netRules(source.HostCapabilities)
	if err != nil {
		return nil, hosting.LoadError(source, extensions.InvalidManifest, err.Error())
	}
	built, err := bundle.Build(bundle.Options{Root: importRoot(source), Entry: source.Entrypoint, Target: bundle.Embedded,
		Members: members()})
	var modules *bundle.BuiltinError
	if err != nil && !errors.As(err, &modules) {
		return nil, hosting.LoadError(source, extensions.ImportFailed, err.Error())
	}
	missing, inNode, problem := h.missing(built.Uses, len(rules) > 0)
	if problem != nil {
		return nil, hosting.LoadError(source, extensions.ImportFailed, problem.Error())
	}
	if needs := needsNode(missing, inNode); len(needs) > 0 && (modules != nil || source.Runtime.Host == "") {
		return nil, needs.refuse(source)
	}
	m := newModule(h, source, string(built.Code), missing)
	if len(rules) > 0 {
		m.network = newNetwork(rules, h.own)
	}
	if err := m.Load(ctx, h.limits.Grace); err != nil {
		return nil, err
	}
	return m, nil
}

// importRoot returns the folder that must contain all imports.
func importRoot(source extensions.Source) string {
	if source.Trust == extensions.TrustEnforced || source.SourceRoot == "" {
		return source.Root
	}
	return source.SourceRoot
}

// needs are the names that an extension uses and that only Node has.
type needs []extensions.Missing

func needsNode(missing []extensions.Missing, inNode []bool) (out needs) {
	for i, one := range missing {
		if inNode[i] && !one.Guarded {
			out = append(out, one)
		}
	}
	return out
}

// refuse returns the error for such an extension; if the extension names no host, the registry may run it in Node.
func (n needs) refuse(source extensions.Source) error {
	texts := make([]string, len(n))
	for i, one := range n {
		texts[i] = one.String()
	}
	refused := &extensions.LoadError{Extension: source.Name, Code: extensions.ImportFailed,
		Message: strings.Join(texts, "\n")}
	if source.Runtime.Host == "" {
		refused.Reason = &extensions.NeedsNodeError{Missing: n}
	}
	return refused
}
