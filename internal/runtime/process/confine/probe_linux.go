package confine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Probe checks how this machine can confine a program: directly, or with a user namespace (Plan.UserNamespace). Root
// needs that in a container, other users always. It returns ErrUnsupported with the reason when neither works. try is
// the program, with its arguments, that calls Try. It is a separate process because a process that hides its memory,
// as a server does, cannot make a user namespace itself.
func Probe(ctx context.Context, try []string) (userNamespace bool, err error) {
	if mountsAlone(ctx) {
		return false, nil
	}
	cmd := exec.CommandContext(ctx, try[0], try[1:]...) //nolint:gosec // our own binary
	if said, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%w: %s (%w)", ErrUnsupported, bytes.TrimSpace(said), err)
	}
	return true, nil
}

// mountsAlone reports whether this process may make a mount namespace and mount in it. Go's runtime needs that for a
// child in a separate one.
func mountsAlone(ctx context.Context) bool {
	cmd := exec.CommandContext(ctx, "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd.Run() == nil
}

// Try confines the stage itself with a user namespace, in a folder made for it, and returns the error.
func Try(ctx context.Context, stage []string) error {
	dir, err := os.MkdirTemp("", "harness-confine-")
	if err != nil {
		return fmt.Errorf("make a folder to try hiding: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Mkdir(filepath.Join(dir, "secret"), 0o700); err != nil {
		return fmt.Errorf("make something to hide: %w", err)
	}
	plan := Plan{Hide: []string{dir}, UserNamespace: true}
	command, err := Command(stage, plan, "", nil)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // our own binary
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	Attributes(cmd.SysProcAttr, plan)
	said, err := cmd.CombinedOutput()
	if said = bytes.TrimSpace(said); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	if string(said) != hidden {
		return fmt.Errorf("a hidden folder can be seen: %s", said)
	}
	return nil
}

// hidden is the output of a stage after a successful check.
const hidden = "hidden"

// confirm is the stage's part of Try.
func confirm(plan Plan) error {
	for _, path := range plan.Hide {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s is not empty", path)
		}
	}
	_, err := os.Stdout.WriteString(hidden + "\n")
	return err
}
