package shadow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// environment is all that git inherits. Git finds no configuration of the user, the machine or the folder.
func (s *Shadow) environment() []string {
	all := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GIT_SSH_COMMAND=/bin/false",
		"GIT_EDITOR=/bin/false", "GIT_PAGER=cat", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=", "GIT_PROTOCOL_FROM_USER=0", "GIT_LITERAL_PATHSPECS=1", "GIT_DISCOVERY_ACROSS_FILESYSTEM=0",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(s.opts.Folder),
		"GIT_DIR=" + s.opts.Dir, "GIT_WORK_TREE=" + s.opts.Folder, "GIT_INDEX_FILE=" + cmp.Or(s.index, s.path("index")),
	}
	if s.objects != "" {
		all = append(all, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+s.objects)
	}
	return all
}

// flags say what the shadow's own configuration says, too, in case another program changed that.
func flags() []string {
	all := []string{"--no-pager", "--no-optional-locks"}
	for _, setting := range []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null", "protocol.allow=never",
		"core.untrackedCache=false", "diff.ignoreSubmodules=all", "submodule.recurse=false", "gc.auto=0", "maintenance.auto=false",
		"core.autocrlf=false", "core.safecrlf=false", "core.quotePath=false", "core.compression=1", "core.looseCompression=1",
		"core.bigFileThreshold=16m", "index.version=4", "core.protectHFS=true", "core.protectNTFS=true",
	} {
		all = append(all, "-c", setting)
	}
	return all
}

// maxOutput bounds the output of one command.
const maxOutput = 256 << 20

// CommandError is a failed git with the end of its error output.
type CommandError struct {
	Command, Output string
	Cause           error
}

// Error implements error.
func (e *CommandError) Error() string {
	return fmt.Sprintf("git %s: %v: %s", e.Command, e.Cause, e.Output)
}

// Unwrap returns the cause of the process's end.
func (e *CommandError) Unwrap() error { return e.Cause }

// exited reports whether git ran and ended with a code: what it captured for is not there, or differs.
func exited(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}

func (s *Shadow) git(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	return s.gitWithin(ctx, s.opts.Limit, in, args...)
}

// gitWithin runs git and returns its output. At the end of the time or of ctx, git is killed with all its children.
func (s *Shadow) gitWithin(ctx context.Context, limit time.Duration, in []byte, args ...string) ([]byte, error) {
	var out bounded
	out.most = maxOutput
	err := s.run(ctx, limit, in, &out, args...)
	return out.Bytes(), err
}

func (s *Shadow) run(ctx context.Context, limit time.Duration, in []byte, out *bounded, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("git did not end within %v", limit))
	defer cancel()
	process := exec.CommandContext(ctx, s.opts.Git, append(flags(), args...)...)
	process.Env, process.Dir = s.environment(), s.opts.Folder
	// Git dies with this program: a later one must not meet a git that still writes. The signal comes at the end of the
	// thread, so the thread stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
	process.WaitDelay = 5 * time.Second
	errout := bounded{most: 2000, cut: true}
	process.Stdin, process.Stdout, process.Stderr = bytes.NewReader(in), out, &errout
	err := process.Start()
	if err == nil {
		_ = syscall.Setpriority(syscall.PRIO_PGRP, process.Process.Pid, 10) // a courtesy to the agents; git may have ended
		err = process.Wait()
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &CommandError{strings.Join(args[:min(2, len(args))], " "), strings.ToValidUTF8(strings.TrimSpace(errout.String()), "\uFFFD"), err}
}

// bounded holds at most a number of bytes. It fails beyond it, or drops the rest if cut is set.
type bounded struct {
	bytes.Buffer
	most int
	cut  bool
}

// Write implements io.Writer.
func (b *bounded) Write(chunk []byte) (int, error) {
	if b.Len()+len(chunk) <= b.most {
		return b.Buffer.Write(chunk)
	}
	if !b.cut {
		return 0, &RefusedError{fmt.Sprintf("git's output has more than %d MiB", b.most>>20)}
	}
	b.Buffer.Write(chunk[:b.most-b.Len()])
	return len(chunk), nil
}
