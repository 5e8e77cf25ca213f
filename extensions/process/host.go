// Package process runs extensions as child processes: one supervised child per extension that speaks JSON lines over
// stdin and stdout. The child is either Node with the built-in script or any command that the manifest names.
//
// It owns the child's lifecycle (start, handshake, hang, restart, end), the line protocol (wire.go) and the limits of
// the child. It must never know what events mean, which extensions exist or what a tool does; those belong to the root
// package.
package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	runtimeprocess "harness/internal/runtime/process"
)

// Kind is the host's name.
const Kind = "process"

// Limits bound one child. The zero value of a field selects its default.
type Limits struct {
	// Memory is the private memory of each process in bytes (RLIMIT_DATA), default 1 GiB; reserved address space does
	// not count.
	Memory int64
	// OpenFiles and CPU bound each process (RLIMIT_NOFILE, RLIMIT_CPU), defaults 256 and 10 minutes. The kernel kills a
	// child that used up its processor time, and the host restarts it.
	OpenFiles int
	CPU       time.Duration
	// LoadTimeout bounds the time from start to ready, default 15 s.
	LoadTimeout time.Duration
	// Grace is the time that a child may take to confirm that it abandoned a handler that timed out, default 500 ms;
	// then the child counts as hung and is killed. StopGrace is the time that it may take to end after a request,
	// default 500 ms.
	Grace, StopGrace time.Duration
	// MaxLine is the maximum length of a line in bytes, default 8 MiB; MaxResult that of a result or tool argument,
	// default 1 MiB.
	MaxLine, MaxResult int
	// MaxCalls is the maximum number of unanswered tool calls, default 256; MaxQueue that of queued events, default
	// 1024. MaxConcurrency limits concurrent handlers, default 64 (a child requests its number, 1 by default).
	MaxCalls, MaxQueue, MaxConcurrency int
	// MaxLogLines is the maximum number of log lines per invocation, default 200. MaxIdle is the maximum number of
	// unsolicited messages per second before the child is killed, default 2000.
	MaxLogLines, MaxIdle int
}

func (l Limits) withDefaults() Limits {
	set(&l.Memory, 1<<30)
	set(&l.OpenFiles, 256)
	set(&l.CPU, 10*time.Minute)
	set(&l.LoadTimeout, 15*time.Second)
	set(&l.Grace, 500*time.Millisecond)
	set(&l.StopGrace, 500*time.Millisecond)
	set(&l.MaxLine, 8<<20)
	set(&l.MaxResult, 1<<20)
	set(&l.MaxCalls, 256)
	set(&l.MaxQueue, 1024)
	set(&l.MaxConcurrency, 64)
	set(&l.MaxLogLines, 200)
	set(&l.MaxIdle, 2000)
	return l
}

func set[T int | int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Options configure a Host.
type Options struct {
	Limits Limits
	// Dir is a folder that only this host uses: every child gets a folder below it, named by the marker of its
	// processes.
	Dir string
	// Node is the Node program, default "node" in PATH. It must be version 20 or later.
	Node string
	// PassEnv names variables of the server's environment that children get besides PATH, HOME, LANG, TZ and the like.
	// Secrets of the server are never passed on unless named here.
	PassEnv []string
	// Logger receives stderr of children, their log lines outside an invocation, and their lifecycle events.
	Logger zerolog.Logger
}

// Host loads extensions as child processes. It implements extensions.Host.
type Host struct {
	options Options
	limits  Limits
	log     zerolog.Logger
	last    atomic.Int64
}

// New makes a host and removes the processes and folders of a killed server's children.
func New(ctx context.Context, o Options) (*Host, error) {
	if o.Dir == "" {
		return nil, fmt.Errorf("the process host needs a folder of its own")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the process host's folder: %w", err)
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the process host's folder: %w", err)
	}
	o.Dir = dir
	if o.Node == "" {
		o.Node = "node"
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the process host's folder: %w", err)
	}
	h := &Host{options: o, limits: o.Limits.withDefaults(), log: o.Logger}
	for _, entry := range entries {
		killed, err := runtimeprocess.Sweep(ctx, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("end leftover processes of an extension: %w", err)
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return nil, fmt.Errorf("remove a leftover folder of an extension: %w", err)
		}
		if killed > 0 {
			h.log.Warn().Int("processes", killed).Str("mark", entry.Name()).
				Msg("killed leftover processes of an earlier server's extension")
		}
	}
	return h, nil
}

// Kind implements extensions.Host.
func (h *Host) Kind() string { return Kind }

// Load starts the extension's child and waits until it has registered its handlers. The registry decides earlier
// whether the extension may have a process (trust).
func (h *Host) Load(ctx context.Context, source extensions.Source) (extensions.Module, error) {
	ctx, cancel := context.WithTimeout(ctx, h.limits.LoadTimeout)
	defer cancel()
	c, err := h.command(source)
	if err != nil {
		return nil, &extensions.LoadError{Extension: source.Name, Code: extensions.ImportFailed, Message: err.Error(),
			Reason: err}
	}
	m := newModule(h, source, c)
	if err := m.Load(ctx, h.limits.StopGrace+closeTime); err != nil {
		return nil, err
	}
	return m, nil
}

// closeTime bounds the killing, draining and sweeping of a child.
const closeTime = 5 * time.Second

// newMarker returns the marker, and the folder's name, of the next child.
func (h *Host) newMarker() string {
	return runtimeprocess.Marker(h.options.Dir, "extension") + "-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-" +
		strconv.FormatInt(h.last.Add(1), 10)
}
