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

// The default data directory is in the working directory, so the author of that folder may have created it. It is
// accepted only if this user's harness made it, or the user consented to it. It then contains a secret, and the hash of
// that secret is stored outside of it, among the consents. A configured directory (DATA_DIR) is the operator's choice
// and needs no consent.

// ClaimFile is the name of the file that contains the secret.
const ClaimFile = "claim"

// claimState says whether a data directory belongs to this user.
type claimState int

const (
	claimNone claimState = iota // it is missing or empty
	claimOurs                   // made by this user's harness, consented to, or configured by the operator
	// ClaimForeign is any other data directory.
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

// CheckClaim refuses a foreign data directory; it accepts a missing one.
func (c *Consents) CheckClaim(cfg *config.Config) error {
	_, err := c.allowed(cfg)
	return err
}

// allowed is Check, except that a foreign data directory is an error unless this run consents to it.
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

// Check reports the state of the configured data directory. It changes nothing.
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

// onlyClaim reports whether a data directory contains only a claim, which a crash may have left incomplete.
func onlyClaim(entries []fs.DirEntry) bool {
	for _, entry := range entries {
		if entry.Name() != ClaimFile && entry.Name() != LockFile {
			return false
		}
	}
	return true
}

// Grant assigns a data directory to this user, with a new secret that no earlier writer knows.
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

// readClaim reads the secret in the folder itself: it does not follow links.
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
