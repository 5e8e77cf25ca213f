// Package process starts and ends the operating system processes of coding-agent runtimes.
//
// It owns the start of such a process: its process group, its parent-death signal, and a mark in its environment. It
// also drains the pipes, and ends the process with everything it leaves behind. It must never know the process's
// output: protocols stay in runtime/<name>.
//
// Package shim, below this one, puts a small parent between the server and such a process. So turns survive a restart
// of the server.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	vocabulary "harness/internal/runtime"
	"harness/internal/runtime/process/confine"
)

// Spec describes a process to start.
type Spec struct {
	// Path is the executable and Args its arguments, without the program name.
	Path string
	Args []string
	// Env is the whole environment; the marker is added to it.
	Env []string
	// Dir is the working directory, "" for the server's own.
	Dir string
	// Marker identifies the owner of the process, see Sweep. "" leaves the process unmarked, so no sweep can find it.
	Marker string
	// DieWithParent makes the kernel send SIGKILL to the process when this one dies, instead of SIGTERM.
	DieWithParent bool
	// Confine hides files from the process, see package confine. Stage is the program, with its first arguments, that
	// does so; a plan needs it.
	Confine confine.Plan
	Stage   []string
	// Stderr receives the process's stderr, line by line and within limits (see stderr.go). Nil drops it.
	Stderr func(line []byte)
}

// stderrLimit is how long stderr is drained after the end of the process, if a grandchild writes to it.
const stderrLimit = 2 * time.Second

// Process is one running or ended runtime process.
type Process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *drainable
	done   chan struct{}
	exit   vocabulary.Exit

	stopOnce  sync.Once
	closeOnce sync.Once
}

// Start starts the process and returns once it is running. The context bounds the start only.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pipes, err := openPipes()
	if err != nil {
		return nil, err
	}
	command := append([]string{spec.Path}, spec.Args...)
	attributes := attributes(spec.DieWithParent)
	if !spec.Confine.Empty() {
		if command, err = confine.Command(spec.Stage, spec.Confine, spec.Path, spec.Args); err != nil {
			pipes.closeChild()
			pipes.closeOwn()
			return nil, fmt.Errorf("confine %s: %w", spec.Path, err)
		}
		confine.Attributes(attributes, spec.Confine)
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // the caller's settings
	cmd.Env = spec.Env
	if spec.Marker != "" {
		cmd.Env = append(cmd.Environ(), MarkVariable+"="+spec.Marker)
	}
	cmd.Dir = spec.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.childIn, pipes.childOut, pipes.childErr
	cmd.SysProcAttr = attributes

	p := &Process{cmd: cmd, stdin: pipes.in, done: make(chan struct{})}
	p.stdout = newDrainable(pipes.out, 0)
	stderr := newDrainable(pipes.err, stderrLimit)
	started := make(chan error)
	go p.run(started, stderr)
	err = <-started
	pipes.closeChild()
	if err != nil {
		pipes.closeOwn()
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	go drainStderr(stderr, spec.Stderr, time.Now)
	return p, nil
}

// run starts the process and waits for it. Both use one locked thread because the parent-death signal is sent when the
// forking THREAD ends. Without the lock the Go scheduler could retire that thread while the server lives.
func (p *Process) run(started chan<- error, stderr *drainable) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	// ProcessState has the same information as the error.
	_ = p.cmd.Wait()
	p.exit = exitOf(p.cmd.ProcessState, time.Now())
	p.closeStdin()
	p.stdout.finish()
	stderr.finish()
	<-stderr.closed
	close(p.done)
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stdin returns the process's stdin. It supports write deadlines.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout returns the output of the process. It ends after the process is gone and all output is read, even if a
// grandchild has the pipe open.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Done is closed when the process is gone and its stderr is drained.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit describes the end of the process. Valid after Done.
func (p *Process) Exit() vocabulary.Exit { return p.exit }

// Stop ends the process (closes stdin, sends SIGTERM), kills its process group after grace, and returns when it is
// gone. A second call is allowed. Sweep handles processes that left the group.
func (p *Process) Stop(grace time.Duration) {
	p.stopOnce.Do(func() {
		p.closeStdin()
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	})
	select {
	case <-p.done:
		return
	case <-time.After(grace):
	}
	p.Kill()
	<-p.done
}

// Kill sends SIGKILL to the process group at once. It does not wait.
func (p *Process) Kill() {
	select {
	case <-p.done:
		// Another process may have the group id by now.
		return
	default:
	}
	_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
}

// Release frees the pipes of an exited process after its stdout was read.
func (p *Process) Release() {
	<-p.done
	p.stdout.close()
}

func (p *Process) closeStdin() { p.closeOnce.Do(func() { _ = p.stdin.Close() }) }

func exitOf(state *os.ProcessState, at time.Time) vocabulary.Exit {
	exit := vocabulary.Exit{At: at}
	if state == nil {
		return exit
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		name := signalName(status.Signal())
		exit.Signal = &name
		return exit
	}
	code := state.ExitCode()
	exit.Code = &code
	return exit
}

// signalName returns the conventional name of a signal that ends processes; clients of codex-manager use these names.
func signalName(signal syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGHUP: "SIGHUP",
		syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE",
		syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGSYS: "SIGSYS", syscall.SIGTERM: "SIGTERM",
		syscall.SIGTRAP: "SIGTRAP",
	}
	if name, ok := names[signal]; ok {
		return name
	}
	return signal.String()
}

type pipes struct{ in, out, err, childIn, childOut, childErr *os.File }

func openPipes() (p pipes, err error) {
	// Not exec.Cmd's own pipes: Wait closes those at exit, even with unread output.
	defer func() {
		if err != nil {
			p.closeChild()
			p.closeOwn()
			err = fmt.Errorf("open pipes for a runtime process: %w", err)
		}
	}()
	var errs [3]error
	p.childIn, p.in, errs[0] = os.Pipe()
	p.out, p.childOut, errs[1] = os.Pipe()
	p.err, p.childErr, errs[2] = os.Pipe()
	return p, errors.Join(errs[:]...)
}

func (p pipes) closeChild() { closeAll(p.childIn, p.childOut, p.childErr) }

func (p pipes) closeOwn() { closeAll(p.in, p.out, p.err) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
