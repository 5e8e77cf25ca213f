package gitworkspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// refs is the namespace of snapshots, at the remote and in this server's repository: refs/harness/NAME.
const refs = "refs/harness/"

// pushedRefs is the namespace in which this server's repository records what the remote has accepted.
const pushedRefs = "refs/pushed/"

// passed are git's variables that are passed on from this server's environment: for keys, helpers and proxies.
var passed = []string{"HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND",
	"GIT_ASKPASS", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy"}

func (s *Store) repository() string { return filepath.Join(s.opts.Dir, "repository.git") }

// git runs git in this server's repository, to which no other process writes.
func (s *Store) git(ctx context.Context, in io.Reader, args ...string) (string, error) {
	process := exec.CommandContext(ctx, s.opts.Git, args...)
	process.Args[0] = "git"
	process.Dir = s.repository()
	process.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_DIR=" + s.repository(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set {
			process.Env = append(process.Env, name+"="+value)
		}
	}
	// Its children (ssh, helpers) end with it.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
	var said bytes.Buffer
	err := converse(process, in, &said)
	return strings.TrimSpace(said.String()), err
}

// makeRepository makes this server's repository, and configures its remote. The remote is in its configuration, and in
// no command line.
func (s *Store) makeRepository(ctx context.Context) error {
	if err := os.MkdirAll(s.repository(), 0o700); err != nil {
		return err
	}
	if _, err := s.git(ctx, nil, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	settings := map[string]string{
		"remote.origin.url": s.opts.Remote,
		// It does maintenance while a caller waits for it, and leaves no process behind.
		"gc.autoDetach": "false", "maintenance.autoDetach": "false", "core.hooksPath": os.DevNull,
		// An agent may have written the incoming objects, and others may write to the remote.
		"transfer.fsckObjects": "true", "fetch.fsckObjects": "true",
	}
	for _, defect := range harmless {
		settings["fetch.fsck."+defect] = "ignore"
	}
	for name, value := range settings {
		if _, err := s.git(ctx, nil, "config", name, value); err != nil {
			return err
		}
	}
	return nil
}

// has returns the snapshot that this server's repository has under a reference, "" for none.
func (s *Store) has(ctx context.Context, ref string) (string, error) {
	return s.git(ctx, nil, "for-each-ref", "--format=%(objectname)", ref)
}

// importSnapshot imports a snapshot of a workspace into this server's repository.
func (s *Store) importSnapshot(ctx context.Context, bundle, name string) error {
	if err := s.admit(ctx, bundle); err != nil {
		if what := forbidden(err); what != "" {
			return refusedError("in its repository " + what + "; `git fsck --strict` there lists all of them, and it is stored again " +
				"when no branch or tag leads to one")
		}
		return fmt.Errorf("take what was made of the folder: %w", err)
	}
	// All objects are present, so this checks that they are connected, and makes the reference.
	if _, err := s.git(ctx, nil, "fetch", "--quiet", "--no-tags", bundle, "+"+snapshotRef+":"+refs+name); err != nil {
		return fmt.Errorf("take what was made of the folder: %w", err)
	}
	return nil
}

// push stores a snapshot of this server at the remote, unless the remote already has it.
func (s *Store) push(ctx context.Context, name, snapshot string) error {
	stored, err := s.has(ctx, pushedRefs+name)
	if err != nil || stored == snapshot {
		return err
	}
	if _, err := s.git(ctx, nil, "push", "--quiet", "origin", "+"+refs+name+":"+refs+name); err != nil {
		return fmt.Errorf("push the folder: %w", err)
	}
	_, err = s.git(ctx, nil, "update-ref", pushedRefs+name, snapshot)
	return err
}

// fetch fetches a snapshot of the remote under its name.
func (s *Store) fetch(ctx context.Context, name, snapshot string) error {
	if _, err := s.git(ctx, nil, "fetch", "--quiet", "--no-tags", "origin", "+"+refs+name+":"+refs+name); err != nil {
		err = errors.Join(err, s.removeHalfPacks())
		if what := forbidden(err); what != "" {
			return fmt.Errorf("the folder is not made of what the remote has: %s; see who else writes to the remote, and remove %s there "+
				"or store the folder anew: %w", what, refs+name, err)
		}
		return fmt.Errorf("fetch the folder: %w", err)
	}
	found, err := s.has(ctx, refs+name)
	if err == nil && found != snapshot {
		err = fmt.Errorf("the remote has another state of the folder (%s) than was stored (%s)", found, snapshot)
	}
	return err
}

// Forget removes all snapshots whose names start with a prefix, which ends with a slash, here and at the remote.
func (s *Store) Forget(ctx context.Context, prefix string) error {
	ctx, release, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer release()
	if !strings.HasSuffix(prefix, "/") || !isName(strings.TrimSuffix(prefix, "/")) {
		return fmt.Errorf("%q is no name of snapshots", prefix)
	}
	listed, err := s.git(ctx, nil, "ls-remote", "--refs", "origin", refs+prefix+"*")
	if err != nil {
		return fmt.Errorf("look what is stored of a folder: %w", err)
	}
	var gone []string
	for line := range strings.Lines(listed) {
		if _, ref, is := strings.Cut(strings.TrimSpace(line), "\t"); is && strings.HasPrefix(ref, refs+prefix) {
			gone = append(gone, ":"+ref)
		}
	}
	if len(gone) > 0 {
		if _, err := s.git(ctx, nil, append([]string{"push", "--quiet", "origin"}, gone...)...); err != nil {
			return fmt.Errorf("remove what is stored of a folder: %w", err)
		}
	}
	own, err := s.git(ctx, nil, "for-each-ref", "--format=delete %(refname)", refs+prefix, pushedRefs+prefix)
	if err == nil && own != "" {
		_, err = s.git(ctx, strings.NewReader(own+"\n"), "update-ref", "--stdin")
	}
	return err
}
