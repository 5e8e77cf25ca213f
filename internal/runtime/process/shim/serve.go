package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process"
)

const (
	// pumpBytes is the size of a read from the runtime: a pipe's capacity.
	pumpBytes = 64 << 10
	// heapGoal keeps the shim small: it has almost no garbage.
	heapGoal = 8 << 20
	// lingerLimit is how long an attached server may take to read the rest of an exited runtime's output. That rest
	// also waits this long for space on a full disk.
	lingerLimit = 10 * time.Minute
	sweepLimit  = 5 * time.Second
	// slimEvery is the interval of memory releases. Each takes less than a millisecond, and a shim is mostly idle.
	slimEvery = 5 * time.Second
)

// server is the shim process.
type server struct {
	dir   string
	spec  Spec
	token string

	process *process.Process
	spool   *spool
	stderr  boundedLog
	stdin   stdin

	mu           sync.Mutex
	state        State
	attached     *attachment
	attachments  int64
	reason       string
	unsentStderr [][]byte    // the last lines of stderr without an attached server
	exitSent     bool        // a server got the exit
	idle         *time.Timer // runs while no server is attached

	stopOnce sync.Once
	stopping chan struct{} // closed when the runtime should end
	grace    time.Duration
	ended    chan struct{} // closed when the runtime is gone and all its output is spooled
	left     chan struct{} // one token when an attachment ended
}

// Run is the shim process: it starts the runtime of its folder and returns when the runtime is gone and no server
// needs the shim. It writes one line to ready: "ok", or why there is no runtime. The end of ctx ends the runtime.
func Run(ctx context.Context, dir string, ready io.WriteCloser) error {
	debug.SetGCPercent(25)
	debug.SetMemoryLimit(heapGoal)
	// A write above a file size limit must return an error, not kill the shim. The runtime would inherit
	// signal.Ignore.
	tooLarge := make(chan os.Signal, 1)
	signal.Notify(tooLarge, syscall.SIGXFSZ, syscall.SIGHUP)
	defer signal.Stop(tooLarge)

	s, listener, err := start(ctx, dir)
	if err != nil {
		_, _ = io.WriteString(ready, strings.ReplaceAll(err.Error(), "\n", " ")+"\n")
		_ = ready.Close()
		return err
	}
	slim()
	_, _ = io.WriteString(ready, "ok\n")
	_ = ready.Close()
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		s.accept(listener)
	}()
	s.live(ctx)
	listener.remove(dir)
	s.detach(nil)
	<-accepting
	return nil
}

func start(ctx context.Context, dir string) (*server, *socket, error) {
	s := &server{dir: dir, stopping: make(chan struct{}), ended: make(chan struct{}), left: make(chan struct{}, 1)}
	if err := readJSON(filepath.Join(dir, specFile), &s.spec); err != nil {
		return nil, nil, fmt.Errorf("read what to run: %w", err)
	}
	s.spec = s.spec.withDefaults()
	s.grace = s.spec.StopGrace
	token, err := os.ReadFile(filepath.Join(dir, tokenFile))
	if err != nil || len(token) == 0 {
		return nil, nil, fmt.Errorf("read the token: %w", err)
	}
	s.token = string(token)
	s.stderr.path = filepath.Join(dir, stderrFile)
	if s.spool, err = newSpool(spoolPath(dir), s.spec.SegmentBytes, s.spec.SpoolBytes); err != nil {
		return nil, nil, err
	}
	if err := process.KeepDescendants(); err != nil {
		return nil, nil, err
	}
	listener, err := listen(dir)
	if err != nil {
		return nil, nil, err
	}
	s.process, err = process.Start(ctx, process.Spec{
		Path: s.spec.Path, Args: s.spec.Args, Env: slices.DeleteFunc(os.Environ(), func(a string) bool { return a == Own }),
		Dir: s.spec.Dir, Marker: s.spec.Marker, Stderr: s.stderrLine, DieWithParent: true,
		Confine: s.spec.Confine, Stage: s.spec.Stage,
	})
	if err != nil {
		listener.remove(dir)
		return nil, nil, err
	}
	s.stdin = stdin{out: s.process.Stdin(), dir: dir, opened: s.opened}
	s.state = State{
		Generation: s.spec.Generation, Runtime: s.spec.Runtime, Version: s.spec.Version, OldestProtocol: OldestProtocol,
		Protocol: Protocol, Boot: process.Boot(), PID: os.Getpid(), Started: process.Started(os.Getpid()),
		RuntimePID: s.process.PID(), RuntimeStarted: process.Started(s.process.PID()),
		Socket: listener.path, StartedAt: time.Now().UnixMilli(),
	}
	go s.pump()
	s.idle = time.AfterFunc(s.spec.DetachGrace, func() {
		s.fail(fmt.Sprintf("no server attached for %s", s.spec.DetachGrace))
	})
	if err := writeJSON(filepath.Join(dir, stateFile), s.state); err != nil {
		// Without it no server can find the shim, so it must exit.
		s.process.Kill()
		<-s.ended
		listener.remove(dir)
		return nil, nil, fmt.Errorf("write where the shim listens: %w", err)
	}
	return s, listener, nil
}

// pump spools the runtime's stdout until it ends.
func (s *server) pump() {
	defer close(s.ended)
	buffer := make([]byte, pumpBytes)
	var failed error
	for {
		n, err := s.process.Stdout().Read(buffer)
		if n > 0 && failed == nil {
			if failed = s.spool.write(buffer[:n]); failed != nil {
				// Keep reading, so that the runtime can exit. Its output is lost from here on; the shim stops the
				// runtime for that reason.
				s.fail("its output could not be kept: " + failed.Error())
			}
		}
		if err != nil {
			return
		}
	}
}

// fail ends the runtime with a reason for its exit.
func (s *server) fail(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	s.stop(0)
}

// stop requests the end of the runtime; grace 0 means the spec's. A second call changes nothing.
func (s *server) stop(grace time.Duration) {
	s.stopOnce.Do(func() {
		if grace > 0 {
			s.grace = grace
		}
		close(s.stopping)
	})
}

// live waits for the runtime's exit, and then for servers that still read.
func (s *server) live(ctx context.Context) {
	s.wait(ctx)
	s.process.Stop(s.grace)
	// The rest of its output fits a pipe; it must not wait for a server that may never attach.
	s.spool.lift()
	sweeping, cancel := context.WithTimeout(context.Background(), sweepLimit)
	_, _ = process.SweepCarrying(sweeping, GenerationVariable+"="+s.spec.Generation)
	cancel()
	enough := time.AfterFunc(lingerLimit, s.spool.abandon)
	<-s.ended
	enough.Stop()
	s.process.Release()
	saved := s.exited()

	limit := time.After(lingerLimit)
	first := time.After(helloLimit)
	alone := false
	for {
		s.mu.Lock()
		attached, exitSent, met := s.attached != nil, s.exitSent, s.attachments > 0
		s.mu.Unlock()
		// On a full disk only this process has the exit of the runtime, so it waits for a server. A server that
		// started a runtime with an immediate exit is about to attach.
		if !attached && (saved || exitSent) && (met || alone) {
			return
		}
		select {
		case <-s.left:
		case <-first:
			alone = true
		case <-limit:
			return
		}
	}
}

// wait returns when the runtime has exited or must end.
func (s *server) wait(ctx context.Context) {
	again := time.Tick(slimEvery)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	bound := bounded{lease: Lease{RunDir: filepath.Dir(s.dir)}, server: s}
	inspect := time.NewTimer(leasePoll)
	defer inspect.Stop()
	for {
		select {
		case <-s.process.Done():
			return
		case <-s.stopping:
			return
		case <-ctx.Done():
			return
		case <-ended:
			process.ReapOrphans(s.process.PID())
		case <-again:
			slim()
		case <-inspect.C:
			inspect.Reset(bound.obey())
		}
	}
}

// exited stores the exit, and reports whether that succeeded.
func (s *server) exited() bool {
	s.mu.Lock()
	exit := s.process.Exit()
	exit.Reason = s.reason
	s.state.Exit = &exit
	s.idle.Stop()
	state := s.state
	s.mu.Unlock()
	stored := writeJSON(filepath.Join(s.dir, stateFile), state) == nil
	s.spool.close()
	return stored
}

func (s *server) exit() *runtime.Exit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Exit
}

// note stores a value of the attached server for the next one.
func (s *server) note(raw []byte) {
	s.mu.Lock()
	s.state.Note = raw
	state := s.state
	s.mu.Unlock()
	state.Calls = nil // they change with every line
	_ = writeJSON(filepath.Join(s.dir, stateFile), state)
}

func (s *server) status() State {
	s.mu.Lock()
	state := s.state
	state.Attached = s.attached != nil
	s.mu.Unlock()
	state.Oldest, state.End, state.Acked, _ = s.spool.bounds()
	return state
}

func (s *server) signal(in signalled) error {
	pid := s.process.PID()
	select {
	case <-s.process.Done():
		return errors.New("the runtime is gone")
	default:
	}
	if in.Group {
		pid = -pid
	}
	return syscall.Kill(pid, syscall.Signal(in.Signal))
}

// stderrLine logs a line and sends it to the attached server, or to the next one.
func (s *server) stderrLine(line []byte) {
	s.stderr.write(line)
	s.mu.Lock()
	a := s.attached
	if a == nil {
		// The reason of an immediate exit comes before any server could attach.
		if s.unsentStderr = append(s.unsentStderr, line); len(s.unsentStderr) > maxStderrLines {
			s.unsentStderr = s.unsentStderr[1:]
		}
	}
	s.mu.Unlock()
	if a == nil {
		return
	}
	s.spool.locked(func() {
		if len(a.lines) < maxStderrLines {
			a.lines = append(a.lines, line)
		}
	})
}
