package gitworkspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"harness/internal/lib/bubblewrap"
)

// Where things are for a confined git.
const (
	folderPlace  = "/workspace"
	scratchPlace = "/scratch"
	// index is that of a folder's files; the one of the folder's own repository is left alone.
	filesIndex = scratchPlace + "/files.index"
)

// confined runs git on a folder. Whatever its files and configuration have git do is done without a network and with
// nothing of this machine but its programs, the folder and a folder of its own.
type confined struct {
	command []string
	user    *User
	// dir and index are GIT_DIR and GIT_INDEX_FILE, the latter "" for what is about no work tree.
	dir, index string
}

// within is git on a folder (writable or not) with a place of its own, in which its repository is.
func (s *Store) within(place, folder string, writable bool) confined {
	bind := "--ro-bind"
	if writable {
		bind = "--bind"
	}
	command := append(bubblewrap.Command(s.opts.Bubblewrap, false), bind, folder, folderPlace, "--bind", place, scratchPlace)
	command = append(command, "--remount-ro", "/", "--chdir", folderPlace)
	return confined{command: command, user: s.opts.User, dir: scratchPlace, index: filesIndex}
}

// at is the same with another repository and index.
func (c confined) at(dir, index string) confined {
	c.dir, c.index = dir, index
	return c
}

// git runs git and returns what it says.
func (c confined) git(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	var said bytes.Buffer
	err := c.run(ctx, in, &said, append([]string{"git"}, args...)...)
	return said.Bytes(), err
}

// init makes the repository.
func (c confined) init(ctx context.Context, args ...string) error {
	_, err := c.at(c.dir, "").git(ctx, nil, append([]string{"init", "--quiet", "--template="}, args...)...)
	return err
}

// line is git for what says one line.
func (c confined) line(ctx context.Context, in io.Reader, args ...string) (string, error) {
	said, err := c.git(ctx, in, args...)
	return strings.TrimSuffix(string(said), "\n"), err
}

func (c confined) run(ctx context.Context, in io.Reader, out io.Writer, command ...string) error {
	// What the folder's own repository has is not stored once more.
	args := append(slices.Clone(c.command), "--setenv", "GIT_ALTERNATE_OBJECT_DIRECTORIES", ownRepository+"/objects",
		"--setenv", "GIT_CONFIG_NOSYSTEM", "1", "--setenv", "GIT_NO_REPLACE_OBJECTS", "1", "--setenv", "GIT_DIR", c.dir)
	if c.index != "" {
		args = append(args, "--setenv", "GIT_WORK_TREE", folderPlace, "--setenv", "GIT_INDEX_FILE", c.index)
	}
	args = append(append(args, "--"), command...)
	process := exec.CommandContext(ctx, args[0], args[1:]...)
	process.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent"}
	if c.user != nil {
		process.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.user.UID, Gid: c.user.GID, Groups: c.user.Groups}}
	}
	process.Dir = "/"
	return converse(process, in, out)
}

// endWait is how long a process that was killed may take to be gone.
const endWait = 5 * time.Second

// CommandError says what a git said that failed.
type CommandError struct {
	Command string
	Said    string
	Cause   error
}

// Error implements error.
func (e *CommandError) Error() string {
	return fmt.Sprintf("%s: %v: %s", e.Command, e.Cause, e.Said)
}

// Unwrap is why the process ended so.
func (e *CommandError) Unwrap() error { return e.Cause }

// converse runs a process that ends with its context.
func converse(process *exec.Cmd, in io.Reader, out io.Writer) error {
	var complaints complaints
	process.Stdin, process.Stdout, process.Stderr, process.WaitDelay = in, out, &complaints, endWait
	err := process.Run()
	if err == nil {
		return nil
	}
	at := slices.Index(process.Args, "git") + 1
	return &CommandError{"git " + strings.Join(process.Args[at:min(at+2, len(process.Args))], " "), complaints.String(), err}
}

// complaints is the end of what a process says is wrong.
type complaints []byte

func (c *complaints) Write(chunk []byte) (int, error) {
	const most = 2000
	*c = append(*c, chunk...)
	*c = slices.Clone((*c)[max(0, len(*c)-most):])
	return len(chunk), nil
}

func (c *complaints) String() string {
	return strings.ToValidUTF8(strings.TrimSpace(string(*c)), "\uFFFD")
}
