package main

import (
	"errors"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"harness/internal/lib/trust"
	"harness/internal/platform/config"
)

// loadConfig is config.FromProcess for a command that obeys a `.env` only as the operator consented to it.
func loadConfig(flags *pflag.FlagSet) (*config.Config, error) {
	return config.FromProcess(flags, func(path string, content []byte) error {
		return newConsents(false).check(path, trust.HashBytes(content))
	})
}

// consents tell what the operator consented to: by `harness trust`, and with --trust what is there at the start.
type consents struct {
	store *trust.Store

	mu sync.Mutex
	// starting tells that what is asked for now is consented to for this run, atStart what that was: hash by place.
	starting bool
	atStart  map[string]string
}

// newConsents are those of this process's user; trustStart consents to what is asked for until started is called.
func newConsents(trustStart bool) *consents {
	return &consents{store: trust.Open(os.Getenv), starting: trustStart, atStart: map[string]string{}}
}

// started ends what --trust consents to.
func (c *consents) started() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = false
}

// extension implements extensions.Options.Consent.
func (c *consents) extension(folder string, further []string) error {
	hash, err := trust.HashFolder(folder, further)
	if err != nil {
		return err
	}
	return c.check(folder, hash)
}

func (c *consents) check(path, hash string) error {
	place, err := trust.Place(path)
	if err != nil {
		return err
	}
	if c.forThisRun(place, hash) {
		return nil
	}
	trusted, err := c.store.Trusted(place, hash)
	if err == nil && !trusted {
		err = errors.New(trust.Remedy(place, hash))
	}
	return err
}

func (c *consents) forThisRun(place, hash string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting {
		c.atStart[place] = hash
	}
	return c.atStart[place] == hash
}
