package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"

	"harness/internal/platform/config"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/environment"
	"harness/internal/runtime/process/confine"
	"harness/server/datadir"
)

// The stages that hide files from runtimes (see package confine): subcommands of this program.
const (
	ConfineCommand    = "confine"
	TryConfineCommand = "try-confine"
)

// Confinement describes how runtimes are started.
type Confinement struct {
	Plan  confine.Plan
	stage []string
	env   []string
}

// confinement selects the files to hide from runtimes, and logs one line if they cannot be hidden. It returns an error
// for a setting that it cannot honor.
func (s *runtimes) confinement(ctx context.Context) (Confinement, error) {
	own, err := os.Executable()
	if err != nil {
		return Confinement{}, fmt.Errorf("find the program to start runtimes with: %w", err)
	}
	c := Confinement{stage: []string{own, ConfineCommand}}
	if err := c.BecomeUser(s.cfg.RuntimeUser, s.dir.Path); err != nil {
		return Confinement{}, err
	}
	if s.cfg.RuntimeConfine == "off" {
		s.log.Warn().Msg("HARNESS_RUNTIME_CONFINE=off: agents can read the server's data directory and settings")
		s.fencing.missing = "HARNESS_RUNTIME_CONFINE=off: leave it at auto"
		return c, nil
	}
	if err := s.fencing.plan(ctx, &c.Plan); err != nil {
		return Confinement{}, err
	}
	err = s.hide(ctx, &c.Plan, own)
	if err == nil {
		return c, nil
	}
	if s.cfg.RuntimeConfine == "required" {
		return Confinement{}, fmt.Errorf("HARNESS_RUNTIME_CONFINE=required, but %w", err)
	}
	s.log.Warn().Err(err).Msg(c.Exposure(s.dir.Path) + "; docs/security.md says what helps")
	return c, nil
}

// exposed returns why sessions with separate homes could read each other's homes, and the remedy. It returns "" if they
// cannot, or if the operator consented.
func (s *runtimes) exposed(name string, confined Confinement) string {
	if name == codex.Name || environment.Level(s.cfg.CredentialLevel(name)) != environment.LevelEphemeral ||
		len(confined.Plan.Hide) > 0 || s.cfg.RuntimeConfine == "off" {
		return ""
	}
	return "each session of " + name + " is to have a home of its own (HARNESS_RUNTIME_CREDENTIALS), which cannot be hidden from " +
		"the others here: docs/security.md says what helps; HARNESS_RUNTIME_CONFINE=off has them see each other's"
}

// CanHide reports how this machine can hide files from runtimes (see confine.Probe). The error says why it cannot.
func CanHide(ctx context.Context, cfg *config.Config, data, workspace, own string) (userNamespace bool, err error) {
	if cfg.DetachGrace == 0 && os.Geteuid() != 0 {
		return false, fmt.Errorf("%w: HARNESS_DETACH_GRACE_MS=0, and only root can do it without a shim",
			confine.ErrUnsupported)
	}
	if datadir.Within(data, workspace) {
		return false, fmt.Errorf("%w: agents work in the data directory %s; set DATA_DIR to a folder of its own",
			confine.ErrUnsupported, data)
	}
	userNamespace, err = confine.Probe(ctx, []string{own, TryConfineCommand})
	if err == nil && userNamespace && cfg.RuntimeUser != "" {
		err = fmt.Errorf("%w: HARNESS_RUNTIME_USER is set and this container lets no program hide files without a user namespace",
			confine.ErrUnsupported)
	}
	return userNamespace, err
}

// hide plans the files to hide from runtimes: the data directory, except the parts that runtimes need, and the server's
// settings.
func (s *runtimes) hide(ctx context.Context, plan *confine.Plan, own string) error {
	data, err := datadir.RealPath(s.dir.Path)
	if err != nil {
		return err
	}
	workspace, err := datadir.RealPath(SessionFolder(s.cfg, s.workspace))
	if err != nil {
		return err
	}
	userNamespace, err := CanHide(ctx, s.cfg, data, workspace, own)
	if err != nil {
		return err
	}
	plan.UserNamespace = userNamespace
	plan.Hide = outermost(append([]string{data}, s.access.hideSecrets()...))
	for _, file := range slices.Concat(s.cfg.Files(), s.access.clientSecrets()) {
		path, err := datadir.RealPath(file)
		if errors.Is(err, os.ErrNotExist) {
			path, err = datadir.EntryPlace(file) // protects a runtime that restarts once the path exists
		}
		if err == nil {
			plan.Hide = append(plan.Hide, path)
		}
	}
	for _, needed := range []string{s.cfg.CodexHome, CodexBin(s.cfg), s.cfg.ClaudeBin} {
		path, err := datadir.RealPath(needed)
		hidden := func(folder string) bool { return datadir.Within(folder, path) && path != folder }
		if needed != "" && err == nil && slices.ContainsFunc(plan.Hide, hidden) {
			plan.Keep = append(plan.Keep, path)
		}
	}
	if plan.Protect, err = s.protectedRoots(); err != nil {
		return err
	}
	if err := s.fencing.protectPorts(plan); err != nil {
		return err
	}
	// Create it if missing, so that an agent cannot. If that fails, nothing has consent.
	if folder, err := s.consents.Store.MakeFolder(); err != nil {
		s.log.Warn().Err(err).Msg("consent cannot be stored here; use --trust")
	} else if path, err := datadir.RealPath(folder); err == nil {
		plan.Protect = append(plan.Protect, path)
	}
	return nil
}

// outermost returns the places that are not inside another one.
func outermost(places []string) (all []string) {
	for _, place := range places {
		if !slices.ContainsFunc(places, func(other string) bool { return other != place && datadir.Within(other, place) }) {
			all = append(all, place)
		}
	}
	return all
}

// Exposure lists the server's files that agents can read if they cannot be hidden.
func (c *Confinement) Exposure(dataDir string) string {
	if info, err := os.Stat(dataDir); c.Plan.User && (err != nil || info.Mode().Perm()&0o077 == 0) {
		return "the server's files cannot be hidden from agents on this machine; its data directory is closed to their " +
			"user, its settings may not be"
	}
	return "agents can read the server's data directory and settings on this machine"
}

// BecomeUser makes runtimes run as the named user, "" for the server's user. That user must not own the data directory.
func (c *Confinement) BecomeUser(name, dataDir string) error {
	if name == "" {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New(
			"HARNESS_RUNTIME_USER is set, but only root can start a program as another user: unset it, or start the server as root")
	}
	account, err := user.Lookup(name)
	if err != nil {
		return fmt.Errorf("HARNESS_RUNTIME_USER: %w", err)
	}
	groups, err := account.GroupIds()
	if err != nil {
		return fmt.Errorf("HARNESS_RUNTIME_USER: groups of %s: %w", name, err)
	}
	numbers := make([]uint32, 0, len(groups)+2)
	for _, text := range append([]string{account.Uid, account.Gid}, groups...) {
		number, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return fmt.Errorf("HARNESS_RUNTIME_USER: %s has the id %q: %w", name, text, err)
		}
		numbers = append(numbers, uint32(number))
	}
	if info, err := os.Stat(dataDir); err == nil {
		if file, ok := info.Sys().(*syscall.Stat_t); ok && file.Uid == numbers[0] {
			return fmt.Errorf(
				"HARNESS_RUNTIME_USER: %s owns the data directory %s and could read all that is in it: chown -R root: %s", name,
				dataDir, dataDir)
		}
	}
	c.Plan.User, c.Plan.UID, c.Plan.GID, c.Plan.Groups = true, numbers[0], numbers[1], numbers[2:]
	c.env = []string{"HOME=" + account.HomeDir, "USER=" + account.Username, "LOGNAME=" + account.Username}
	return nil
}
