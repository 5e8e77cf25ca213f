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

// Bubblewrap runs tools in separate namespaces: with the machine's programs, read-only, the workspace, and no network.
// Make it with NewBubblewrap.
type Bubblewrap struct {
	bin     string
	program []string
	known   known
}

// NewBubblewrap makes the sandbox. bin is bubblewrap's program ("bwrap"); program is this program with the arguments
// that make it run Child.
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

// Check implements tools.Sandbox: it starts a process as for a call, which must report that it is ready.
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

// Run implements tools.Sandbox. The process, which must have a tool of this name, runs the tool's function.
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

// run runs a job with the workspace at its path within the sandbox.
func (h held) run(ctx context.Context, job tools.Job, limits tools.Limits) (json.RawMessage, error) {
	said := map[string]io.Writer{"stdout": job.Stdout, "stderr": job.Stderr}
	job.Workspace = workspaceDir
	return h.converse(ctx, &assignment{rand.Text(), job, limits}, said)
}

// command returns the complete command line. Nothing else of the machine is visible in the sandbox.
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

// mask is a path within a sandbox at which the run sees nothing.
type mask struct {
	at     string
	folder bool
}

// masked returns the existing hidden paths, with their paths in the sandbox.
func masked(workspace string, hidden []string) (all []mask) {
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return nil // a missing workspace cannot be mounted, either
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

// Program returns this program with the given arguments, for NewBubblewrap and NewDocker.
func Program(arguments ...string) ([]string, error) {
	own, err := os.Executable()
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	return append([]string{own}, arguments...), err
}
