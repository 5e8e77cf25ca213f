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

// Probe tries how this machine lets a program be confined: as it is, or with a user namespace (Plan.UserNamespace), which root needs in a
// container and everybody else always. ErrUnsupported with the reason when neither works. try is the program and first arguments that call
// Try; "true" or "false", for a user namespace, follows. It is a process of its own because one that hides its memory, as a server does,
// cannot make a user namespace itself.
func Probe(ctx context.Context, try []string) (userNamespace bool, err error) {
	var failed [2]error
	for i, arg := range []string{"false", "true"} {
		cmd := exec.CommandContext(ctx, try[0], append(try[1:len(try):len(try)], arg)...) //nolint:gosec // our own binary
		said, err := cmd.CombinedOutput()
		if err == nil {
			return arg == "true", nil
		}
		failed[i] = fmt.Errorf("%s (%w)", bytes.TrimSpace(said), err)
	}
	return false, fmt.Errorf("%w: %w", ErrUnsupported, failed[1])
}

// Try confines the stage itself, in a folder made for it, and tells what went wrong.
func Try(ctx context.Context, stage []string, userNamespace bool) error {
	dir, err := os.MkdirTemp("", "harness-confine-")
	if err != nil {
		return fmt.Errorf("make a folder to try hiding: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Mkdir(filepath.Join(dir, "secret"), 0o700); err != nil {
		return fmt.Errorf("make something to hide: %w", err)
	}
	command, err := Command(stage, Plan{Hide: []string{dir}, UserNamespace: userNamespace}, "", nil)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // our own binary
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	Attributes(cmd.SysProcAttr, Plan{UserNamespace: userNamespace})
	said, err := cmd.CombinedOutput()
	if said = bytes.TrimSpace(said); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	if string(said) != hidden {
		return fmt.Errorf("a hidden folder can be seen: %s", said)
	}
	return nil
}

// hidden is what a stage says that has looked.
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
