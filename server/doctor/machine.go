package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process/confine"
	"harness/server"
	"harness/server/datadir"
)

// doctorPatience bounds one call of another program.
const doctorPatience = 15 * time.Second

// confinement reports whether the server's files can be hidden from agents, and as which user agents run.
func (d *doctor) confinement(ctx context.Context) {
	const name = "confinement"
	var user server.Confinement
	if err := user.BecomeUser(d.cfg.RuntimeUser, d.cfg.DataDir); err != nil {
		d.broken(name, err.Error(), "")
		return
	}
	if d.cfg.RuntimeConfine == "off" {
		d.warn(name, "HARNESS_RUNTIME_CONFINE=off: agents can read the server's data directory and settings",
			"leave it at auto")
		return
	}
	userNamespace, err := d.canHide(ctx)
	if d.cfg.RuntimeConfine == "required" {
		err = cmp.Or(err, confine.FenceSupported())
	}
	const remedy = "docs/security.md has one for each kind of machine"
	switch {
	case err != nil && d.cfg.RuntimeConfine == "required":
		d.broken(name, fmt.Sprintf("HARNESS_RUNTIME_CONFINE=required, but %s", err), remedy)
	case err != nil:
		d.warn(name, fmt.Sprintf("%s: %s", user.Exposure(d.cfg.DataDir), err), remedy)
	case os.Geteuid() == 0 && d.cfg.RuntimeUser == "":
		d.warn(name, "the server's files are hidden from agents, but they run as root: one in danger-full-access can undo it",
			"set HARNESS_RUNTIME_USER, or start the server as another user")
	case userNamespace:
		d.ok(name, "works here, in a user namespace: agents cannot see the server's files")
	default:
		d.ok(name, "works here: agents cannot see the server's files, and run as %s", d.cfg.RuntimeUser)
	}
}

func (d *doctor) canHide(ctx context.Context) (bool, error) {
	data, err := datadir.EntryPlace(d.cfg.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = d.cfg.DataDir, nil // it will be created together with its parent folder
	}
	if err != nil {
		return false, err
	}
	workspace, err := datadir.RealPath(server.SessionFolder(d.cfg, d.workspace))
	if err != nil {
		return false, err
	}
	return server.CanHide(ctx, d.cfg, data, workspace, d.own)
}

// runtime reports whether codex starts as its user and can write the files it needs.
func (d *doctor) runtime(ctx context.Context) {
	const name = "runtime"
	if len(d.cfg.Runtimes) > 0 && !slices.Contains(d.cfg.Runtimes, codex.Name) {
		d.ok(name, "codex is none of HARNESS_RUNTIMES")
		return
	}
	if d.cfg.RuntimeStatuses()[codex.Name] == string(operations.RuntimeDisabled) {
		d.ok(name, "codex is disabled: %s", operations.DisabledReason)
		return
	}
	path, err := exec.LookPath(server.CodexBin(d.cfg))
	if err != nil {
		d.broken(name, fmt.Sprintf("codex is missing: %s", err),
			"set CODEX_BIN to the codex executable, or: npm install -g @openai/codex")
		return
	}
	said, err := d.asRuntime(ctx, path, "--version")
	if err != nil {
		d.broken(name, fmt.Sprintf("%s does not start: %s %s", path, err, said),
			"run it yourself, as the user of runtimes; every folder it is in must be open to that user")
		return
	}
	for setting, folder := range map[string]string{"CODEX_HOME": d.cfg.CodexHome,
		"the folder": server.SessionFolder(d.cfg, d.workspace)} {
		if folder == "" {
			continue
		}
		info, err := os.Stat(folder)
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err == nil {
			if _, refused := d.asRuntime(ctx, "/bin/sh", "-c", `test -w "$0" && test -x "$0"`, folder); refused != nil {
				err = errors.New("the user of runtimes may not write there")
			}
		}
		switch {
		case err == nil:
		case setting == "CODEX_HOME":
			d.broken(name, fmt.Sprintf("CODEX_HOME %s cannot be used: %s", folder, err),
				"make it, and give it to the user of runtimes")
		default:
			d.warn(name, fmt.Sprintf("%s %s, where sessions work that name no cwd: %s", setting, folder, err),
				"set HARNESS_WORKSPACE to a folder that user may write")
		}
	}
	if d.cfg.OpenAIAPIKey == "" && os.Getenv("OPENAI_API_KEY") == "" && !codex.HasAuthFile(d.cfg.CodexHome) {
		d.warn(name, fmt.Sprintf("%s at %s has no login", said, path),
			"harness login as the user of runtimes, or OPENAI_API_KEY; a model provider of your own needs neither")
		return
	}
	if tested := codex.Tested(); runtime.Newer(said, tested) {
		d.warn(name, fmt.Sprintf("%s at %s is newer than %s, the newest version this server was tested with; it is used", said, path,
			tested[len(tested)-1]), "nothing, while it works; docs/runtimes/tested.md says what newer versions did")
		return
	}
	d.ok(name, "%s at %s", said, path)
}

// asRuntime runs a program as the runtimes' user and returns its output. codex writes files into its home on every
// call, so asRuntime gives it another home.
func (d *doctor) asRuntime(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	home, err := os.MkdirTemp("", "harness-doctor-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(home) }()
	var user server.Confinement
	if err := user.BecomeUser(d.cfg.RuntimeUser, d.cfg.DataDir); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home}
	if user.Plan.User {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user.Plan.UID, Gid: user.Plan.GID,
			Groups: user.Plan.Groups}}
		if err := os.Chown(home, int(user.Plan.UID), int(user.Plan.GID)); err != nil {
			return "", err
		}
	}
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	said, err := cmd.Output()
	if err != nil {
		said = append(said, wrong.Bytes()...)
	}
	return string(bytes.TrimSpace(said)), err
}

// dataDir reports whether the data directory is usable, and whether to check its content.
func (d *doctor) dataDir() bool {
	const name = "data"
	path := d.cfg.DataDir
	if err := d.consents.CheckClaim(d.cfg); err != nil {
		d.broken(name, err.Error(), "")
		return false
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		above := existing(path)
		if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
			d.broken(name, fmt.Sprintf("the data directory %s cannot be made in %s: %s", path, above, err),
				"set DATA_DIR to a folder this user may write")
		} else {
			d.ok(name, "%s is not there yet; serve makes it", path)
		}
		return true
	}
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK)
	}
	switch {
	case err != nil:
		d.broken(name, fmt.Sprintf("the data directory %s cannot be used: %s", path, err),
			"set DATA_DIR to a folder this user may write")
		return false
	case info.Mode().Perm()&0o022 != 0:
		d.warn(name, fmt.Sprintf("others may write the data directory %s (mode %o)", path, info.Mode().Perm()),
			"chmod 700 "+path)
	case info.Mode().Perm()&0o055 != 0:
		d.warn(name, fmt.Sprintf("others may look into the data directory %s (mode %o)", path, info.Mode().Perm()),
			"chmod 700 "+path)
	default:
		d.ok(name, "%s is this user's alone", path)
	}
	return true
}

// existing returns a path, or its nearest existing parent folder.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// Free disk space for the data directory: below scarce is a warning; below little the server cannot store data for
// long.
const (
	scarceBytes = 1 << 30
	littleBytes = 64 << 20
	littleFiles = 1000
)

// space reports the free space for the data directory.
func (d *doctor) space() {
	const name, remedy = "space", "make room, or move DATA_DIR"
	var disk unix.Statfs_t
	if err := unix.Statfs(existing(d.cfg.DataDir), &disk); err != nil {
		d.broken(name, fmt.Sprintf("the disk of %s cannot be asked: %s", d.cfg.DataDir, err), "")
		return
	}
	free := disk.Bavail * uint64(disk.Bsize) //nolint:gosec // sizes are positive
	message := fmt.Sprintf("%d MiB are free for %s", free>>20, d.cfg.DataDir)
	switch {
	case free < littleBytes, disk.Files > 0 && disk.Ffree < littleFiles:
		d.broken(name, fmt.Sprintf("%s, and room for %d files", message, disk.Ffree), remedy)
	case free < scarceBytes:
		d.warn(name, message, remedy)
	default:
		d.ok(name, "%s", message)
	}
}

// retention reports data that is retained forever without need.
func (d *doctor) retention() {
	const name = "retention"
	kept := d.cfg.Retention
	events, records := kept.JournalDays == 0 && kept.JournalEvents == 0, kept.RecordDays == 0 && kept.Records == 0
	if events {
		d.warn(name, "every event is kept for ever", "set journal-days or journal-events of HARNESS_RETENTION")
	}
	if records {
		d.warn(name, "ended jobs, settled requests and extension reloads are kept for ever",
			"set records-days or records of HARNESS_RETENTION")
	}
	if !events && !records {
		d.ok(name, "what is over goes by its age and number; docs/configuration.md says what")
	}
}
