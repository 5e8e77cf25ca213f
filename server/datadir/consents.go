package datadir

import (
	"errors"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"harness/internal/lib/trust"
	"harness/internal/platform/config"
)

// LoadConfig is config.FromProcess for a command that reads a `.env` only if the operator consented to it.
func LoadConfig(flags *pflag.FlagSet) (*config.Config, error) {
	return config.FromProcess(flags, func(path string, content []byte) error {
		return NewConsents(false).check(path, trust.HashBytes(content))
	})
}

// Consents records the operator's consents: from `harness trust`, and with --trust for all files present at startup.
type Consents struct {
	Store *trust.Store

	mu sync.Mutex
	// starting reports whether this run consents to every request; atStart holds those consents: hash by place.
	starting bool
	atStart  map[string]string
}

// NewConsents returns the consents of this process's user; trustStart consents to all requests until started is called.
func NewConsents(trustStart bool) *Consents {
	return &Consents{Store: trust.Open(os.Getenv), starting: trustStart, atStart: map[string]string{}}
}

// Started ends the consent of --trust.
func (c *Consents) Started() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = false
}

// Extension implements extensions.Options.Consent.
func (c *Consents) Extension(folder string, further []string) error {
	hash, err := trust.HashFolder(folder, further)
	if err != nil {
		return err
	}
	return c.check(folder, hash)
}

func (c *Consents) check(path, hash string) error {
	place, err := trust.Place(path)
	if err != nil {
		return err
	}
	if c.forThisRun(place, hash) {
		return nil
	}
	trusted, err := c.Store.Trusted(place, hash)
	if err == nil && !trusted {
		err = errors.New(trust.Remedy(place, hash))
	}
	return err
}

func (c *Consents) forThisRun(place, hash string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting {
		c.atStart[place] = hash
	}
	return c.atStart[place] == hash
}

// Knows reports whether a folder is unchanged since the operator consented to it with harness trust.
func (c *Consents) Knows(folder string) bool {
	hash, err := trust.HashFolder(folder, nil)
	if err != nil {
		return false
	}
	trusted, err := c.Store.Trusted(folder, hash)
	return err == nil && trusted
}
