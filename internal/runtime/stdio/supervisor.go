package stdio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
)

// Defaults of Options.
const (
	defaultStartTimeout = 30 * time.Second
	defaultCallTimeout  = 120 * time.Second
	defaultBackoffMin   = 250 * time.Millisecond
	defaultBackoffMax   = 30 * time.Second
	// steady is the uptime after which the backoff restarts.
	steady = time.Minute
)

// Options configure a Supervisor. Zero values mean the stated defaults.
type Options struct {
	// Serves is the conversation of the process (runtime.Signal.Serves), "" for a process of the whole runtime.
	Serves string
	// Speak makes the Protocol of a process.
	Speak func(*Conn) Protocol
	// Sink receives the output of the processes.
	Sink runtime.Sink
	// StartTimeout bounds the start of a shim, and the time a caller waits for a starting process (30 s). After
	// CallTimeout a call of an earlier server counts as unanswered (120 s).
	StartTimeout, CallTimeout time.Duration
	// HangAfter is how long a probe may stay unanswered before the supervisor kills and restarts the process. After a
	// quarter of it, the status is unresponsive. 0 disables the probe.
	HangAfter time.Duration
	// BackoffMin is the pause after the first failed start. It doubles with each failure up to BackoffMax (250 ms, 30
	// s).
	BackoffMin, BackoffMax time.Duration
	// Started, when set, runs after a process becomes usable and before any caller uses it. It returns the version
	// ("" if unknown).
	Started func(*Conn) (version string)
	// Attend, when set, runs beside a running process until ctx ends. Its error stops the process: *RetiredError for
	// a retired process.
	Attend func(ctx context.Context, c *Conn, pid int) error
	// KeepOnStop leaves a process behind a shim running after Stop, for the next server.
	KeepOnStop bool
	// Resume loads the stored state of a process that outlived its server.
	Resume func(ctx context.Context, generation string) (runtime.Resumption, error)
	// Inherit returns the shims from earlier servers for this supervisor, oldest first; by default all of the
	// launcher's runtime.
	Inherit func() []shim.Found
	// Program, when set, runs before each start. It returns the settings of the process beyond Launch, such as
	// arguments for its conversation.
	Program func() (Program, error)
	// Once ends the supervision after the end of the first process, for any cause of that end.
	Once bool
}

// Supervisor keeps one process running. A runtime with a process per conversation has several.
type Supervisor struct {
	name     string
	launcher *Launcher
	options  Options
	log      zerolog.Logger
	out      *queue
	expected expectations

	mu      sync.Mutex
	changed chan struct{}
	status  runtime.Status
	conn    *Conn
	// users is the number of calls in progress, uses the number of all calls, used the time when the last one ended.
	users, uses int64
	used        time.Time
	cancel      context.CancelFunc
	done        chan struct{}
}

// RetiredError means that the supervisor retired a process (Supervisor.Retire); another one starts at once.
type RetiredError struct {
	// Exit is the reason in runtime.Exit. Message is the error for callers, with the remedy.
	Exit, Message string
}

// Error implements error.
func (e *RetiredError) Error() string { return e.Message }

// NewSupervisor makes a supervisor. Start starts it.
func NewSupervisor(launcher *Launcher, options Options) *Supervisor {
	set := func(value *time.Duration, fallback time.Duration) {
		if *value <= 0 {
			*value = fallback
		}
	}
	set(&options.StartTimeout, defaultStartTimeout)
	set(&options.CallTimeout, defaultCallTimeout)
	set(&options.BackoffMin, defaultBackoffMin)
	set(&options.BackoffMax, defaultBackoffMax)
	if options.Sink == nil {
		options.Sink = func(runtime.Batch) {}
	}
	if options.Started == nil {
		options.Started = func(*Conn) string { return "" }
	}
	if options.Resume == nil {
		options.Resume = func(context.Context, string) (runtime.Resumption, error) { return runtime.Resumption{}, nil }
	}
	if options.Inherit == nil {
		options.Inherit = launcher.Found
	}
	name := launcher.launch.Name
	return &Supervisor{
		name: name, launcher: launcher, options: options, log: launcher.launch.Logger, out: newQueue(),
		changed: make(chan struct{}), status: runtime.Status{State: runtime.StateStopped, Reason: name + " is not started"},
	}
}

// Status returns the current status of the process; it never blocks.
func (s *Supervisor) Status() runtime.Status {
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	status.Suspended = status.State == runtime.StateReady && process.Suspended(status.PID)
	return status
}

// Start begins supervision and returns at once. A second call is allowed; a stopped supervisor does not start again.
func (s *Supervisor) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done != nil {
		return nil
	}
	// Supervision lasts until Stop, independent of the start's context.
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.done = make(chan struct{})
	s.setLocked(func(status *runtime.Status) {
		status.State, status.Reason = runtime.StateStarting, s.name+" is starting"
	})
	go func() {
		defer close(s.done)
		delivered := make(chan struct{})
		go func() {
			defer close(delivered)
			s.deliver()
		}()
		s.supervise(ctx)
		s.out.close()
		<-delivered
	}()
	return nil
}

// Stop ends the process (SIGTERM, then SIGKILL to its group) unless KeepOnStop keeps it, and waits for every
// goroutine. It returns the context's error when the sink does not accept the last output. A second call is allowed.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.mu.Lock()
	if s.done == nil {
		// Never started: prevent a later start.
		s.done = make(chan struct{})
		s.cancel = func() {}
		close(s.done)
	}
	cancel, done := s.cancel, s.done
	s.mu.Unlock()
	cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", s.name, ctx.Err())
	}
}

// Done is closed when supervision has ended; it is nil before supervision starts.
func (s *Supervisor) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

func (s *Supervisor) deliver() {
	for {
		batch, ok := s.out.pop()
		if !ok {
			return
		}
		s.options.Sink(batch)
		s.expected.delivered(batch)
	}
}

// supervise keeps one process running until the context ends.
func (s *Supervisor) supervise(ctx context.Context) {
	inherited, backoff := s.inherit(ctx), s.options.BackoffMin
	for ctx.Err() == nil && (!inherited || !s.options.Once) {
		began := time.Now()
		ready, err := s.runOnce(ctx)
		if ctx.Err() == nil && s.options.Once && !ready && err != nil {
			s.log.Error().Err(err).Msg(s.name + " does not start")
			s.set(func(status *runtime.Status) {
				status.State, status.Reason, status.PID, status.Missing = runtime.StateUnavailable, runtime.ReasonOf(err), 0, missing(err)
			})
			return
		}
		if ctx.Err() != nil || s.options.Once {
			break
		}
		if ready && time.Since(began) >= steady {
			backoff = s.options.BackoffMin
		}
		if s.replaced(err) {
			continue
		}
		s.down(err, backoff, ready && backoff == s.options.BackoffMin)
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		backoff = min(backoff*2, s.options.BackoffMax)
	}
	s.set(func(status *runtime.Status) {
		status.State, status.Reason, status.PID = runtime.StateStopped, s.name+" is stopped", 0
	})
}

// missing reports whether the start failed because the program does not exist.
func missing(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// down records that a process is gone and when the next one starts. After a healthy process the next one starts soon:
// callers wait instead of failing.
func (s *Supervisor) down(err error, retry time.Duration, soon bool) {
	s.log.Error().Err(err).Dur("retry_in", retry).Msg(s.name + " is down")
	s.set(func(status *runtime.Status) {
		status.State, status.Reason, status.Missing = runtime.StateUnavailable, runtime.ReasonOf(err), missing(err)
		if soon {
			status.State = runtime.StateStarting
		}
		status.Restarts++
	})
}

// replaced reports whether the supervisor retired a process, so that the next one starts at once.
func (s *Supervisor) replaced(err error) bool {
	var retired *RetiredError
	if !errors.As(err, &retired) {
		return false
	}
	s.log.Info().Str("reason", retired.Exit).Msg(s.name + " was idle and is replaced")
	return true
}

func (s *Supervisor) set(change func(*runtime.Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(change)
}

func (s *Supervisor) setLocked(change func(*runtime.Status)) {
	change(&s.status)
	close(s.changed)
	s.changed = make(chan struct{})
}
