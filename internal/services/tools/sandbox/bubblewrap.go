package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"harness/internal/lib/bubblewrap"
	"harness/internal/services/tools"
)

// BubblewrapName is the sandbox's name in events.
const BubblewrapName = "bubblewrap"

// Bubblewrap runs tools in namespaces of their own: with the machine's programs, read-only, the workspace,
// and no network. Make it with NewBubblewrap.
type Bubblewrap struct {
	bin     string
	program []string
	known   known
}

// NewBubblewrap makes the sandbox. bin is bubblewrap's program ("bwrap"); program is this one with the arguments with
// which it is Child.
func NewBubblewrap(bin string, program ...string) *Bubblewrap {
	return &Bubblewrap{bin: cmp.Or(bin, "bwrap"), program: program}
}

// Name implements tools.Sandbox.
func (b *Bubblewrap) Name() string { return BubblewrapName }

// Confinement implements tools.Sandbox.
func (b *Bubblewrap) Confinement(limits tools.Limits) tools.Confinement {
	return tools.Confinement{Kind: BubblewrapName, Network: limits.Network, Mounts: mounts(limits)}
}

func mounts(limits tools.Limits) []string {
	if limits.ReadOnly {
		return []string{workspaceDir + ":ro"}
	}
	return []string{workspaceDir + ":rw"}
}

// Check implements tools.Sandbox: a process is started as for a call, and has to speak.
func (b *Bubblewrap) Check(ctx context.Context) error {
	return b.known.check(func() (err error) {
		if runtime.GOOS != "linux" {
			return errors.New("bubblewrap is there on Linux only; use Docker")
		}
		if _, err := exec.LookPath(b.bin); err != nil {
			return fmt.Errorf("%s is not there (Debian, as root: apt-get install bubblewrap): %w", b.bin, err)
		}
		if err := canBound(); err != nil {
			return err
		}
		scratch, err := os.MkdirTemp("", "harness-sandbox-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
		if err := (held{command: b.command(scratch, tools.Limits{ReadOnly: true})}).try(ctx); err != nil {
			return fmt.Errorf("bubblewrap cannot make a sandbox on this machine (user namespaces may be switched off): %w", err)
		}
		return nil
	})
}

// Run implements tools.Sandbox. The tool's own function runs in the process, which has to know a tool of this name.
func (b *Bubblewrap) Run(ctx context.Context, _ tools.Tool, job tools.Job, limits tools.Limits) (
	json.RawMessage, error) {
	if err := b.Check(ctx); err != nil {
		return nil, err
	}
	release := func() {}
	h := held{command: b.command(job.Workspace, limits), release: func() { release() }, bound: func(pid int) error {
		done, err := group(pid, limits)
		if err == nil {
			release = done
		}
		return err
	}}
	return h.run(ctx, job, limits)
}

// run has a job done whose workspace stands at its place within the sandbox.
func (h held) run(ctx context.Context, job tools.Job, limits tools.Limits) (json.RawMessage, error) {
	said := map[string]io.Writer{"stdout": job.Stdout, "stderr": job.Stderr}
	job.Workspace = workspaceDir
	return h.converse(ctx, &assignment{rand.Text(), job, limits}, said)
}

// command is the whole command line. Anything not named here does not exist in the sandbox.
func (b *Bubblewrap) command(workspace string, limits tools.Limits) []string {
	args := append(bubblewrap.Command(b.bin, limits.Network), "--ro-bind", b.program[0], programPath)
	if limits.ReadOnly {
		args = append(args, "--ro-bind", workspace, workspaceDir)
	} else {
		args = append(args, "--bind", workspace, workspaceDir)
	}
	for _, place := range masked(workspace, limits.Hidden) {
		if place.folder {
			args = append(args, "--tmpfs", place.at)
		} else {
			args = append(args, "--ro-bind", "/dev/null", place.at)
		}
	}
	if !limits.ReadOnly {
		for _, at := range fixed(workspace) {
			args = append(args, "--ro-bind", filepath.Join(workspace, at), filepath.Join(workspaceDir, at))
		}
	}
	args = append(args, "--remount-ro", "/", "--chdir", workspaceDir, "--", programPath)
	return append(args, b.program[1:]...)
}

// mask is a place within a sandbox at which nothing is shown.
type mask struct {
	at     string
	folder bool
}

// masked are the existing hidden places, with their paths in the sandbox.
func masked(workspace string, hidden []string) (all []mask) {
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil // a workspace that is not there cannot be mounted, either
	}
	for _, place := range hidden {
		info, err := os.Stat(place)
		inside, relErr := filepath.Rel(real, place)
		if err == nil && relErr == nil && filepath.IsLocal(inside) {
			all = append(all, mask{filepath.Join(workspaceDir, inside), info.IsDir()})
		}
	}
	return all
}

// Program is this program with the arguments given, for NewBubblewrap and NewDocker.
func Program(arguments ...string) ([]string, error) {
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	return append([]string{own}, arguments...), err
}
