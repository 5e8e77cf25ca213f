package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"harness/internal/lib/durable"
	"harness/internal/lib/trust"
	"harness/internal/platform/config"
)

// The default data directory stands in the working directory, and the author of that folder may have put one there. So
// it counts only when this user's harness made it, or the user consented to it: a secret in it has the hash that is
// kept among the consents, outside of it. One that is named (DATA_DIR) is the operator's choice, and nothing is asked.

// ClaimFile is the file of that secret.
const ClaimFile = "claim"

// claimState is the relation of a data directory to this user.
type claimState int

const (
	claimNone claimState = iota // it is missing or empty
	claimOurs                   // made by this user's harness, consented to, or named by the operator
	// ClaimForeign is a data directory that is none of these.
	ClaimForeign
)

// Claim is CheckClaim before a write: it creates a missing data directory for this user.
func (c *Consents) Claim(cfg *config.Config) error {
	if state, err := c.allowed(cfg); err != nil || state != claimNone {
		return err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w (set DATA_DIR to a folder this user may write)", err)
	}
	lock, err := Lock(cfg.DataDir)
	if err != nil {
		return err
	}
	defer lock.Close()
	// Another process may have created and removed it.
	if state, err := c.allowed(cfg); err != nil || state != claimNone {
		return err
	}
	if _, err = Grant(c.Store, cfg.DataDir); err != nil && !cfg.Trust {
		return config.Usagef("no marker can be written into the new data directory %s, "+
			"so the next start could not recognize it: %w (or set DATA_DIR)",
			cfg.DataDir, err)
	}
	return nil
}

// CheckClaim refuses a data directory that came with its folder; it accepts a missing one.
func (c *Consents) CheckClaim(cfg *config.Config) error {
	_, err := c.allowed(cfg)
	return err
}

// allowed is claim where a foreign data directory is an error, unless this run consents to what is there.
func (c *Consents) allowed(cfg *config.Config) (claimState, error) {
	state, err := c.Check(cfg)
	if err == nil && state == ClaimForeign && !cfg.Trust {
		err = foreignDataDir(cfg.DataDir)
	}
	return state, err
}

func foreignDataDir(path string) error {
	return config.Usagef("the data directory %s was not made by this user's harness on this machine: when what is in it is "+
		"yours, run: harness trust %s "+
		"(or name it with DATA_DIR); otherwise remove it", path, trust.Quote(path))
}

// Check reports what the configured data directory is. It changes nothing.
func (c *Consents) Check(cfg *config.Config) (claimState, error) {
	if cfg.Source("DATA_DIR") != config.SourceDefault {
		return claimOurs, nil
	}
	entries, err := os.ReadDir(cfg.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Lstat(cfg.DataDir)
		if errors.Is(err, fs.ErrNotExist) {
			return claimNone, nil
		}
	}
	if err != nil {
		return ClaimForeign, fmt.Errorf("read the data directory: %w", err)
	}
	if info, err := os.Lstat(cfg.DataDir); err != nil || info.IsDir() && onlyClaim(entries) {
		return claimNone, err
	}
	secret, err := readClaim(cfg.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return ClaimForeign, nil
	}
	if err != nil {
		return ClaimForeign, err
	}
	place, err := EntryPlace(cfg.DataDir)
	if err != nil {
		return ClaimForeign, err
	}
	trusted, err := c.Store.Trusted(place, trust.HashBytes(secret))
	if err != nil || !trusted {
		return ClaimForeign, err
	}
	return claimOurs, nil
}

// onlyClaim reports that nothing but a claim, which a crash may have left half made, is in a data directory.
func onlyClaim(entries []fs.DirEntry) bool {
	for _, entry := range entries {
		if entry.Name() != ClaimFile && entry.Name() != LockFile {
			return false
		}
	}
	return true
}

// Grant makes a data directory this user's, with a secret that an earlier writer does not know.
func Grant(store *trust.Store, path string) (granted map[string]string, err error) {
	place, err := EntryPlace(path)
	if err != nil {
		return nil, err
	}
	secret := []byte(rand.Text() + "\n")
	file := filepath.Join(path, ClaimFile)
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("claim the data directory: %w", err)
	}
	draft, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claim the data directory: %w", err)
	}
	_, err = draft.Write(secret)
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return nil, fmt.Errorf("claim the data directory: %w", err)
	}
	if err := durable.SyncFolder(path); err != nil {
		return nil, fmt.Errorf("claim the data directory: %w", err)
	}
	granted = map[string]string{place: trust.HashBytes(secret)}
	return granted, store.Grant(granted)
}

// readClaim reads a secret in the folder itself: it follows no link.
func readClaim(path string) ([]byte, error) {
	file, err := os.OpenFile(filepath.Join(path, ClaimFile), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read the claim of the data directory: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	return io.ReadAll(io.LimitReader(file, 1<<10))
}
