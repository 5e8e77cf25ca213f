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

// The paths inside a confined git's namespace.
const (
	folderPlace  = "/workspace"
	scratchPlace = "/scratch"
	// filesIndex is the index for a folder's files; the index of the folder's own repository stays unchanged.
	filesIndex = scratchPlace + "/files.index"
)

// confined runs git on a folder. Commands from the folder's files and configuration run without a network. They see
// only this machine's programs, the folder and a scratch folder.
type confined struct {
	command []string
	user    *User
	// dir and index are GIT_DIR and GIT_INDEX_FILE; index is "" for commands without a work tree.
	dir, index string
}

// within returns git on a folder (writable or not), with a scratch place that holds its repository.
func (s *Store) within(place, folder string, writable bool) confined {
	bind := "--ro-bind"
	if writable {
		bind = "--bind"
	}
	command := append(bubblewrap.Command(s.opts.Bubblewrap, false), bind, folder, folderPlace, "--bind", place, scratchPlace)
	command = append(command, "--remount-ro", "/", "--chdir", folderPlace)
	return confined{command: command, user: s.opts.User, dir: scratchPlace, index: filesIndex}
}

// at returns the same git with another repository and index.
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

// line runs git and returns its one line of output.
func (c confined) line(ctx context.Context, in io.Reader, args ...string) (string, error) {
	said, err := c.git(ctx, in, args...)
	return strings.TrimSuffix(string(said), "\n"), err
}

func (c confined) run(ctx context.Context, in io.Reader, out io.Writer, command ...string) error {
	// Objects in the folder's own repository are not stored a second time.
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

// CommandError is a failed git with its output.
type CommandError struct {
	Command string
	Said    string
	Cause   error
}

// Error implements error.
func (e *CommandError) Error() string {
	return fmt.Sprintf("%s: %v: %s", e.Command, e.Cause, e.Said)
}

// Unwrap returns the cause of the process's end.
func (e *CommandError) Unwrap() error { return e.Cause }

// converse runs a process, which is ended with its context.
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

// complaints holds the end of a process's error output.
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
