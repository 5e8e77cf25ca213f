package sandbox

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"harness/internal/services/tools"
)

// DockerName is the sandbox's name in events.
const DockerName = "docker"

// checkWait limits the check that Docker's daemon responds.
const checkWait = 10 * time.Second

// Docker runs each call in a separate container. Make it with NewDocker.
type Docker struct {
	bin, image string
	program    []string
	uid, gid   uint32
	known      known
}

// As runs tools as another user than this process's. Call it before the first run.
func (d *Docker) As(uid, gid uint32) { d.uid, d.gid = uid, gid }

// NewDocker makes the sandbox. bin is Docker's client ("docker"). image must exist locally; it is not pulled. program
// is as in NewBubblewrap, and must run in that image: this program is static.
func NewDocker(bin, image string, program ...string) *Docker {
	return &Docker{bin: cmp.Or(bin, "docker"), image: image, program: program, uid: uint32(os.Getuid()),
		gid: uint32(os.Getgid())}
}

// Name implements tools.Sandbox.
func (d *Docker) Name() string { return DockerName }

// Confinement implements tools.Sandbox.
func (d *Docker) Confinement(limits tools.Limits) tools.Confinement {
	return tools.Confinement{Kind: DockerName, Network: limits.Network, Mounts: mounts(limits)}
}

// Check implements tools.Sandbox: it checks the client, its daemon and the image, and starts a container.
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
		if err := d.held(scratch, "", tools.Limits{ReadOnly: true}).try(ctx); err != nil {
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
	empty, err := os.MkdirTemp("", "harness-hidden-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(empty) }() // an empty folder that remains does no harm
	return d.held(job.Workspace, empty, limits).run(ctx, job, limits)
}

// held returns how to start and end a container; empty is an empty folder to mount over hidden folders.
func (d *Docker) held(workspace, empty string, limits tools.Limits) held {
	name := "harness-tool-" + uuid.NewString()
	return held{command: d.command(name, workspace, empty, limits), env: clientEnv(), end: func() {
		// Killing the client does not end the container. Its context has ended, so this uses another one.
		ctx, cancel := context.WithTimeout(context.Background(), endWait)
		defer cancel()
		_ = exec.CommandContext(ctx, d.bin, "kill", name).Run() // a container that has ended cannot be killed
	}}
}

// clientEnv returns the variables that select Docker's engine: a rootless one, one of another machine, one of a
// context. Containers do not get them.
func clientEnv() (env []string) {
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG",
		"DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (d *Docker) command(name, workspace, empty string, limits tools.Limits) []string {
	args := []string{d.bin, "run", "--rm", "--interactive", "--init", "--pull", "never", "--name", name, "--cap-drop",
		"ALL", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp", "--user",
		fmt.Sprintf("%d:%d", d.uid, d.gid), "--workdir", workspaceDir,
		"--mount", bind(workspace, workspaceDir, limits.ReadOnly), "--mount", bind(d.program[0], programPath, true)}
	for _, place := range masked(workspace, limits.Hidden) {
		if place.folder {
			// Not a tmpfs: Podman mounts those before the workspace, which would then cover it.
			args = append(args, "--mount", bind(empty, place.at, true))
		} else {
			args = append(args, "--mount", bind("/dev/null", place.at, true))
		}
	}
	if !limits.ReadOnly {
		for _, at := range fixed(workspace) {
			args = append(args, "--mount", bind(filepath.Join(workspace, at), filepath.Join(workspaceDir, at), true))
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

// bind returns the value of --mount for a file or folder of this machine. It is a line of CSV: agents choose names in a
// workspace, and these must not become options.
func bind(source, target string, readOnly bool) string {
	fields := []string{"type=bind", "source=" + source, "target=" + target}
	if readOnly {
		fields = append(fields, "readonly")
	}
	var line strings.Builder
	out := csv.NewWriter(&line)
	_ = out.Write(fields) // a Builder never fails to write
	out.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}
