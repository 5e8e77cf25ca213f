package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"harness/tools"
)

// DockerName is what events call it.
const DockerName = "docker"

// checkWait bounds the look whether Docker's daemon answers.
const checkWait = 10 * time.Second

// Docker runs each call in a container of its own. Make it with NewDocker.
type Docker struct {
	bin, image string
	program    []string
	known      known
}

// NewDocker makes the sandbox. bin is Docker's client ("docker"); image is one that is there, it is not fetched;
// program is as in NewBubblewrap, and has to run in that image: this program is static.
func NewDocker(bin, image string, program ...string) *Docker {
	return &Docker{bin: cmp.Or(bin, "docker"), image: image, program: program}
}

// Name implements tools.Sandbox.
func (d *Docker) Name() string { return DockerName }

// Confinement implements tools.Sandbox.
func (d *Docker) Confinement(limits tools.Limits) tools.Confinement {
	return tools.Confinement{Kind: DockerName, Network: limits.Network, Mounts: mounts(limits)}
}

// Check implements tools.Sandbox: the client, its daemon and the image are there, and a container of it starts.
func (d *Docker) Check(ctx context.Context) error {
	return d.known.check(func() (err error) {
		if d.image == "" {
			return fmt.Errorf("no image is configured for the sandbox in Docker")
		}
		if _, err := exec.LookPath(d.bin); err != nil {
			return fmt.Errorf("docker's client is not there; install Docker, or choose another sandbox: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, checkWait)
		defer cancel()
		if said, err := exec.CommandContext(ctx, d.bin, "image", "inspect", "--format", "ok", d.image).
			CombinedOutput(); err != nil {
			return fmt.Errorf("docker's daemon or the image %s is not there (docker pull %s): %s: %w", d.image, d.image,
				strings.TrimSpace(string(said)), err)
		}
		scratch, err := os.MkdirTemp("", "harness-sandbox-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
		if err := d.held(scratch, tools.Limits{ReadOnly: true}).try(ctx); err != nil {
			return fmt.Errorf("docker cannot run this program in the image %s: %w", d.image, err)
		}
		return nil
	})
}

// Run implements tools.Sandbox.
func (d *Docker) Run(ctx context.Context, _ tools.Tool, job tools.Job, limits tools.Limits) (json.RawMessage, error) {
	if err := d.Check(ctx); err != nil {
		return nil, err
	}
	return d.held(job.Workspace, limits).run(ctx, job, limits)
}

func (d *Docker) held(workspace string, limits tools.Limits) held {
	name := "harness-tool-" + uuid.NewString()
	return held{command: d.command(name, workspace, limits), end: func() {
		// To kill the client leaves the container; its context is over, so this has its own.
		ctx, cancel := context.WithTimeout(context.Background(), endWait)
		defer cancel()
		_ = exec.CommandContext(ctx, d.bin, "kill", name).Run() // one that is gone already cannot be killed
	}}
}

func (d *Docker) command(name, workspace string, limits tools.Limits) []string {
	mount := "type=bind,source=" + workspace + ",target=" + workspaceDir
	if limits.ReadOnly {
		mount += ",readonly"
	}
	args := []string{d.bin, "run", "--rm", "--interactive", "--init", "--pull", "never", "--name", name, "--cap-drop",
		"ALL", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp", "--user",
		fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--workdir", workspaceDir, "--mount", mount, "--mount",
		"type=bind,source=" + d.program[0] + ",target=" +
			programPath + ",readonly"}
	for _, place := range masked(workspace, limits.Hidden) {
		if place.folder {
			args = append(args, "--mount", "type=tmpfs,target="+place.at)
		} else {
			args = append(args, "--mount", "type=bind,source=/dev/null,target="+place.at+",readonly")
		}
	}
	if !limits.Network {
		args = append(args, "--network", "none")
	}
	if limits.MemoryBytes > 0 {
		memory := strconv.FormatInt(limits.MemoryBytes, 10)
		args = append(args, "--memory", memory, "--memory-swap", memory)
	}
	if limits.Processes > 0 {
		args = append(args, "--pids-limit", strconv.Itoa(limits.Processes))
	}
	args = append(args, "--cpus", "1", "--entrypoint", programPath, d.image)
	return append(args, d.program[1:]...)
}
