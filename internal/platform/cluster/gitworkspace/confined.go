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

// confined runs git on a folder. Commands from the folder's files and configuration run without a network. They see
// only this machine's programs, the folder and a folder of their own.
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

// at returns the same with another repository and index.
func (c confined) at(dir, index string) confined {
	c.dir, c.index = dir, index
	return c
}

// git runs git and returns its output.
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

// line is git with one line of output.
func (c confined) line(ctx context.Context, in io.Reader, args ...string) (string, error) {
	said, err := c.git(ctx, in, args...)
	return strings.TrimSuffix(string(said), "\n"), err
}

func (c confined) run(ctx context.Context, in io.Reader, out io.Writer, command ...string) error {
	// Objects of the folder's own repository are not stored again.
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

// endWait bounds the end of a killed process.
const endWait = 5 * time.Second

// CommandError is the output of a failed git.
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

// complaints is the end of a process's error output.
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
