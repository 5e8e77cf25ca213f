package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"harness/internal/platform/auth/owner"
	"harness/internal/platform/config"
)

// OwnersToken returns the owner's token of the configured server.
func OwnersToken(cfg *config.Config) (*owner.Token, error) {
	id, err := os.ReadFile(filepath.Join(cfg.DataDir, NodeIDFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no server has run with DATA_DIR=%s, so there is no owner's token: start one with harness serve, or name its "+
			"folder in DATA_DIR", cfg.DataDir)
	}
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be read: %w; run this as the server's user", err)
	}
	return owner.Of(cfg.DataDir, strings.TrimSpace(string(id)), os.Getenv), nil
}
